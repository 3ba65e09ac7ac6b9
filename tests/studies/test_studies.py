"""Many runs: what is found, what a run that fails becomes, and what a killed sweep leaves."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from l4strace import errors, pipeline
from l4strace.output import json as as_json
from l4strace.schema.sweep import SWEEP_TABLES
from l4strace.studies import cells, parameters, pool, study, summary
from l4strace.studies.measuring import one_run, results
from l4strace.studies.planned import Limits, Options, Planned
from l4strace.studies.sources import discover, elsewhere, names
from l4strace.studies.store import Store
from l4strace.studies.worker import READY
from tests.support.sweeps import invented

NO_OPTIONS = Options()


def found(place: Path, **how: Any) -> dict[str, Planned]:
    planned = discover.discover([str(place)], discover.How(**how), NO_OPTIONS).planned
    return {one.name: one for one in planned}


def touch(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(b"")


def test_files_of_one_run_belong_together(tmp_path: Path):
    touch(
        tmp_path, "a/x.pcapng.zst", "a/x.kernel.ndjson", "a/x.host.json", "a/notes.md",
        "b-1.client.pcap", "b-1.server.pcap", "b-1.flent.gz", "c/sender.pcap", "c/trace.txt.zst",
        ".hidden/y.pcap",
    )  # fmt: skip
    runs = found(tmp_path)
    assert {name: len(one.files) for name, one in runs.items()} == {"a/x": 3, "b-1": 3, "c": 2}


def test_a_manifest_makes_its_folder_one_run(tmp_path: Path):
    touch(tmp_path, "r1/one.pcap", "r1/two.pcap")
    manifest = {"parameters": {"rate": "50mbit", "aqm": {"name": "codel"}, "rep": 3}, "note": "x"}
    (tmp_path / "r1/manifest.json").write_text(json.dumps(manifest))
    run = found(tmp_path)["r1"]
    assert run.parameters == {"rate": "50mbit", "aqm.name": "codel"}
    assert (run.repetition, len(run.files)) == ("3", 2)


@pytest.mark.parametrize(
    ("name", "text"),
    [("manifest.toml", "rate = 4\naqm = 'pie'"), ("params.yaml", "rate: 4\naqm: pie")],
)
def test_manifests_of_other_kinds(tmp_path: Path, name: str, text: str):
    if name.endswith(".toml"):
        pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML")
    touch(tmp_path, "r/x.pcap")
    (tmp_path / "r" / name).write_text(text)
    assert found(tmp_path)["r"].parameters == {"rate": 4, "aqm": "pie"}


def test_a_manifest_that_grows_when_it_is_read(tmp_path: Path):
    """Each object stands 300 times in the next one: 300^4 scalars."""
    touch(tmp_path, "r/x.pcap")
    lines = ["a: &a {" + ", ".join(f"k{n}: {n}" for n in range(300)) + "}"]
    for last, name in zip("abc", "bcd", strict=True):
        lines.append(f"{name}: &{name} {{" + ", ".join(f"k{n}: *{last}" for n in range(300)) + "}")
    (tmp_path / "r/manifest.yaml").write_text("\n".join(lines))
    assert 200 <= len(found(tmp_path)["r"].parameters) < 500


def test_a_name_carries_parameters(tmp_path: Path):
    touch(tmp_path, "prague-vs-cubic-codel1q-20ms.pcap", "other.pcap")
    runs = found(tmp_path, name="{cca}-vs-{rival}-{aqm}-{rtt:ms}")
    assert runs["prague-vs-cubic-codel1q-20ms"].parameters == {
        "cca": "prague", "rival": "cubic", "aqm": "codel1q", "rtt": 20,
    }  # fmt: skip
    assert runs["other"].parameters == {}
    with pytest.raises(errors.UsageError, match="fits no run"):
        found(tmp_path, name="{cca}+{rival}")
    with pytest.raises(errors.UsageError, match="no parameter"):
        names.pattern("plain")


def test_lists_and_tables_name_runs(tmp_path: Path):
    touch(tmp_path, "d/a.pcap", "d/b.pcap", "d/b.trace.txt")
    (tmp_path / "runs.txt").write_text("d/a.pcap  # first\n\nd/b.pcap d/b.trace.txt\n")
    assert [len(one.files) for one in found(tmp_path / "runs.txt").values()] == [1, 2]
    (tmp_path / "runs.csv").write_text("files,rate,i\nd/a.pcap,4,0\nd/b.pcap;d/b.trace.txt,8,1\n")
    runs = found(tmp_path / "runs.csv")
    assert [(one.parameters, one.repetition) for one in runs.values()] == [
        ({"rate": 4}, "0"), ({"rate": 8}, "1"),
    ]  # fmt: skip
    assert runs["b"].fingerprint != runs["a"].fingerprint


def test_a_place_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "grid").mkdir()
    monkeypatch.chdir(tmp_path / "grid")
    assert [discover.stem(one) for one in (".", "../grid/", "x/extend.csv.gz", "s3://b/r")] == [
        "grid", "grid", "extend", "r",
    ]  # fmt: skip


def test_a_pipe_that_a_table_names_stops_no_search(tmp_path: Path):
    os.mkfifo(tmp_path / "x.flent")
    os.mkfifo(tmp_path / "x.host.json")
    (tmp_path / "runs.csv").write_text("files\nx.flent;x.host.json\n")
    assert found(tmp_path / "runs.csv")["x"].parameters == {}


def test_no_runs_is_an_error(tmp_path: Path):
    with pytest.raises(errors.UsageError, match="no run found"):
        found(tmp_path)
    (tmp_path / "t.csv").write_text("aqm,prague goodput\n")
    with pytest.raises(errors.UsageError, match="no run found"):
        found(tmp_path / "t.csv")
    with pytest.raises(errors.UsageError, match="neither"):
        found(tmp_path / "x.pdf")


@pytest.mark.parametrize(
    ("given", "bps"),
    [({"rate": "50mbit"}, 5e7), ({"rate": 4}, 4e6), ({"bandwidth": "1Gbit"}, 1e9),
     ({"link_rate_kbit": 500}, 5e5), ({"rate": "fast"}, None), ({"rtt": 4}, None)],
)  # fmt: skip
def test_the_rate_of_the_link(given: dict[str, Any], bps: float | None):
    assert parameters.rate_bps(given) == bps


@pytest.mark.parametrize(
    ("given", "us"),
    [({"rtt": "20ms"}, 2e4), ({"base_rtt": 4}, 4e3), ({"RTT_US": 500}, 500.0),
     ({"rtt (s)": 0.02}, 2e4), ({"rtt": None, "path.rtt": 4}, 4e3), ({"rtt": "5mbit"}, None),
     ({"rate": 4}, None)],
)  # fmt: skip
def test_the_rtt_of_the_empty_path(given: dict[str, Any], us: float | None):
    assert parameters.round_trip_us(given) == us


def test_axes_are_in_the_order_of_size():
    values = ["1gbit", "5mbit", "80ms", 3, "codel", None]
    assert sorted(values, key=parameters.order) == ["80ms", 3, "5mbit", "1gbit", "codel", None]


def test_columns_of_results_made_elsewhere():
    frame = pl.DataFrame(
        {"aqm": ["a", "b"], "rtt": [4, 8], "rep": [0, 1], "prague_goodput_mbps": [1.5, 2.0],
         "cubic_goodput_mbps": [0.5, 2.0], "drops": [3, 4]}
    )  # fmt: skip
    tables = elsewhere.tables(frame, "t")
    assert tables["runs"]["p_rtt"].to_list() == [4, 8]
    assert tables["runs"]["repetition"].to_list() == ["0", "1"]
    assert tables["flows"]["goodput_bps"].to_list() == [1.5e6, 5e5, 2e6, 2e6]
    shares = tables["measures"].filter(name="l4s_share")["value"].to_list()
    assert shares == [0.75, 0.5]
    assert tables["measures"].filter(name="drops")["value"].to_list() == [3.0, 4.0]


IPERF3 = {
    "start": {"connected": [{"socket": 5}], "timestamp": {"timesecs": 1}},
    "intervals": [],
    "end": {
        "sender_tcp_congestion": "prague",
        "streams": [{
            "sender": {"bits_per_second": 1e7, "retransmits": 4,
                       "mean_rtt": 12000, "min_rtt": 10000},
            "receiver": {"bits_per_second": 9e6},
        }],
    },
}  # fmt: skip


def test_iperf3_results_are_a_run(tmp_path: Path):
    (tmp_path / "prague.json").write_text(json.dumps(IPERF3, indent=1))
    run = found(tmp_path)["prague"]
    result = one_run.measure(run, NO_OPTIONS)
    flow = result.flows[0]
    assert result.run["origin"] == "iperf3"
    assert (flow["label"], flow["l4s"], flow["goodput_bps"]) == ("prague", True, 9e6)
    assert (flow["losses"], flow["rtt_min_us"], flow["rtt_mean_us"]) == (4, 10_000, 12_000)
    (tmp_path / "prague.json").write_text(json.dumps({**IPERF3, "error": "refused"}))
    with pytest.raises(errors.InputError, match="refused"):
        results.sort(run.files).flows("x")


def test_a_row_agrees_with_the_diagnosis(fixtures: Path):
    path = str(fixtures / "misfire" / "misfire.pcap.xz")
    result = one_run.measure(Planned("m", (path,), {"rate": "50mbit"}), NO_OPTIONS)
    evidence = pipeline.derive(pipeline.read([path]))
    document = as_json.document(evidence, pipeline.judge(evidence))
    assert result.run["verdict"] == document["verdict"]["sentence"]
    assert [one["message"] for one in result.findings] == [
        one["message"] for one in document["findings"]
    ]
    for row in result.flows:
        flow = next(one for one in document["flows"] if one["flow"] == row["flow"])
        direction = flow["forward" if row["forward"] else "reverse"]
        assert (row["losses"], row["rtt_min_us"]) == (
            direction["retransmits"], direction["rtt_min_us"],
        )  # fmt: skip
    measures = {row["name"]: row["value"] for row in result.measures if row["number"] is None}
    shares = {row["l4s"]: row["share"] for row in result.flows}
    assert measures["l4s_share"] == pytest.approx(shares[True]) == pytest.approx(0.249, abs=0.001)
    assert measures["l4s_queue_delay"] < 1000 < measures["classic_queue_delay"]
    assert measures["classic_state"] > 0.9
    assert measures["classic_reductions"] == pytest.approx(124 / 129)


@pytest.fixture
def mixed(tmp_path: Path, fixtures: Path) -> Path:
    """A good run, one that is no capture, one that is missing, and a pipe that nobody writes to."""
    shutil.copy(fixtures / "accecn-all-ce" / "sender.pcap.xz", tmp_path / "good.pcap.xz")
    (tmp_path / "bad.pcap").write_bytes(b"\xff" * 99)
    os.mkfifo(tmp_path / "hangs.pcap")
    (tmp_path / "runs.csv").write_text("files,aqm\nbad.pcap,b\ngood.pcap.xz,c\ngone.pcap,d\n")
    return tmp_path


def test_a_run_that_fails_is_a_row_and_an_unchanged_one_is_kept(mixed: Path):
    order = study.Order((str(mixed / "runs.csv"),), str(mixed / "out"), pages=True)
    done = study.sweep(order, pool.on_cores(2))
    status = dict(done.tables["runs"].select("run", "status").iter_rows())
    assert status == {"bad": "failed", "good": "ok", "gone": "failed"}
    assert "3 runs in out: 1 measured now, 0 kept or from tables, 2 failed" in summary.text(
        "out", done
    )
    assert "failed: gone: " in summary.text("out", done)
    assert (mixed / "out" / study.page_name("good")).read_text().startswith("<!doctype html>")
    again = study.sweep(order, pool.on_cores(2))
    assert (again.measured, again.kept) == (0, 3)
    for name, table in SWEEP_TABLES.items():
        assert again.tables[name].equals(done.tables[name])
        assert again.tables[name].columns[: len(table.columns)] == list(table.schema)
    os.utime(mixed / "bad.pcap", ns=(1, 1))
    anew = study.sweep(order, pool.on_cores(2))
    assert (anew.measured, anew.kept) == (0, 2)
    assert "3 runs in out: 0 measured now, 1 kept or from tables, 2 failed" in summary.text(
        "out", anew
    )


def test_a_run_that_hangs_or_takes_too_much_memory_is_a_row(mixed: Path):
    hangs = Planned("hangs", (str(mixed / "hangs.pcap"),))
    result = pool.one(hangs, NO_OPTIONS, Limits(seconds=0.5))
    assert (result.run["status"], result.run["error"]) == ("timeout", "not done within 500 ms")
    run = Planned("good", (str(mixed / "good.pcap.xz"),))
    result = pool.one(run, NO_OPTIONS, Limits(memory_bytes=1 << 20))
    assert (result.run["status"], result.run["error"]) == (
        "memory", "needs more than 1.05 MB of memory",
    )  # fmt: skip


def test_a_worker_that_holds_much_memory_starts_anew(mixed: Path, monkeypatch: pytest.MonkeyPatch):
    started = []
    begin = pool.Worker.__init__

    def counted(self: pool.Worker) -> None:
        started.append(self)
        begin(self)

    monkeypatch.setattr(pool.Worker, "__init__", counted)
    monkeypatch.setattr(pool, "WORN_BYTES", 1)
    planned = [Planned(name, (str(mixed / "missing.pcap"),)) for name in ("a", "b")]
    done = list(pool.measure_all(planned, NO_OPTIONS, Limits(), 1))
    assert ([one.run["status"] for one in done], len(started)) == (["failed", "failed"], 2)


def test_memory_of_earlier_runs_is_not_counted_against_a_run(
    mixed: Path, monkeypatch: pytest.MonkeyPatch
):
    """In a process that did other runs it is too much, in a new one it is not."""
    monkeypatch.setattr(
        pool.Worker, "resident_bytes", lambda self: 200_000_000 if self.runs > 1 else 0
    )
    names = ("missing.pcap", "good.pcap.xz")
    planned = [Planned(name, (str(mixed / name),)) for name in names]
    limits = Limits(memory_bytes=150_000_000)
    both = list(pool.measure_all(planned, NO_OPTIONS, limits, 1))
    assert [one.run["status"] for one in both] == ["failed", "ok"]
    alone = [pool.one(one, NO_OPTIONS, limits) for one in planned]
    assert [one.run["status"] for one in alone] == ["failed", "ok"]


def test_a_worker_has_one_core_and_leaves_interrupts_to_its_parent(monkeypatch: pytest.MonkeyPatch):
    """As many workers as cores: more threads in each would only be slower."""
    monkeypatch.setenv("POLARS_MAX_THREADS", "8")
    worker = pool.Worker()
    try:
        assert worker.connection.recv() == READY
        process = Path(f"/proc/{worker._process.pid}")
        environment = (process / "environ").read_bytes().split(b"\0")
        status = (process / "status").read_text()
    finally:
        worker.stop()
    assert b"POLARS_MAX_THREADS=1" in environment
    ignored = int(re.search(r"^SigIgn:\s*(\w+)$", status, re.MULTILINE)[1], 16)
    assert ignored & 1 << signal.SIGINT - 1
    settled = (
        "from l4strace.studies import worker; worker.settle(); print(resources.most_threads())"
    )
    code = f"from l4strace import resources; {settled}"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "1\n"


def test_a_process_that_is_gone_is_a_row(mixed: Path):
    worker = pool.Worker()
    try:
        worker._process.kill()
        worker._process.wait()
        worker.start(Planned("good", (str(mixed / "good.pcap.xz"),)), NO_OPTIONS, "")
        result = worker.answer()
    finally:
        worker.stop()
    assert result
    assert (result.run["run"], result.run["status"]) == ("good", "memory")


class Killed(BaseException):
    """Stands for SIGKILL: nothing of ours runs after it."""


def test_killed_at_any_point_it_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    touch(tmp_path, *(f"in/r{number}.pcap" for number in range(40)))
    monkeypatch.setattr(study, "FLUSH_RUNS", 4)
    whole = study.sweep(study.Order((str(tmp_path / "in"),), str(tmp_path / "whole")), invented)
    order = study.Order((str(tmp_path / "in"),), str(tmp_path / "killed"))
    write, chance, kills = Store.write, random.Random(9), 0
    left = 0

    def killing(store: Store, path: str, content: bytes) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed
        write(store, path, content)

    monkeypatch.setattr(Store, "write", killing)
    for _ in range(200):
        left = chance.randrange(1, 14)
        try:
            done = study.sweep(order, invented)
            break
        except Killed:
            kills += 1
    assert kills >= 5
    for name in SWEEP_TABLES:
        assert done.tables[name].equals(whole.tables[name])
    assert pl.read_parquet(tmp_path / "killed/runs").height == 40


def test_a_rule_counts_as_a_measure(tmp_path: Path):
    runs = pl.DataFrame(
        {"run": ["a", "b"], "repetition": [None, None], "status": "ok", "p_x": [1, 1]}
    )
    findings = pl.DataFrame({"run": ["a"], "rule": ["L4S301"], "severity": ["error"]})
    tables = {"runs": runs, "findings": findings, "measures": SWEEP_TABLES["measures"].empty()}
    assert cells.cells(tables, "L4S301", ["x"])["mean"].to_list() == [0.5]
    with pytest.raises(errors.UsageError, match="no run has the measure"):
        cells.cells(tables, "nonsense", ["x"])
