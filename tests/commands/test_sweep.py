"""`l4strace sweep` as it is typed."""

import json
from pathlib import Path

import pytest

from tests.support.places import FIXTURES

TABLE = "aqm,rate,i,prague throughput,cubic throughput\n" + "".join(
    f"{aqm},{rate},{i},{share * rate * 1e4},{(100 - share) * rate * 1e4}\n"
    for aqm, share in (("DualPI2", 9), ("CoDel", 45))
    for rate in (4, 40)
    for i in range(3)
)


def test_a_table_becomes_a_dataset(call, tmp_path: Path):
    (tmp_path / "study.csv").write_text(TABLE)
    done = call("sweep", "study.csv", "-q")
    assert done.exit_code == 0
    assert "12 runs in study.sweep" in done.stdout
    assert "Parameters: aqm, rate" in done.stdout
    document = json.loads(call("sweep", "study.csv", "--json").stdout)
    assert (document["runs"], document["parameters"]) == (12, ["aqm", "rate"])


def test_a_folder_is_measured(call, tmp_path: Path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.pcap.xz").symlink_to(FIXTURES / "accecn-all-ce/sender.pcap.xz")
    document = json.loads(call("sweep", "in", "-o", "out", "--workers", "1", "--json").stdout)
    assert document["measured"] == 1
    assert document["findings"][0]["rule"] == "L4S403"
    assert call("sweep", "in", "-o", "in").exception is not None


def test_runs_of_which_all_fail_fail_a_job(call, tmp_path: Path):
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        (tmp_path / f"in/{name}.pcap").write_bytes(b"\xff" * 99)
    words = ("sweep", "in", "-o", "out", "--workers", "1", "-q")
    failed = call(*words, "--json")
    document = json.loads(failed.stdout)
    assert (document["measured"], len(document["failed"])) == (0, 2)
    assert str(failed.exception) == "all 2 runs failed"
    assert failed.exception.exit_code == 3
    (tmp_path / "study.csv").write_text(TABLE)
    assert call("sweep", "study.csv", "-q", "--write-baseline", "base.parquet").exit_code == 0
    assert call(*words, "--baseline", "base.parquet").exception.exit_code == 3
    (tmp_path / "in/c.pcap.xz").symlink_to(FIXTURES / "accecn-all-ce/sender.pcap.xz")
    assert call(*words).exit_code == 0


def test_a_baseline_replaces_a_baseline_and_nothing_else(call, tmp_path: Path):
    (tmp_path / "study.csv").write_text(TABLE)
    command = ("sweep", "study.csv", "-q", "--write-baseline")
    for _ in range(2):
        assert call(*command, "base.parquet").exit_code == 0
    (tmp_path / "notes").write_text("precious")
    (tmp_path / "link").symlink_to("notes")
    for place in ("notes", "link"):
        assert "--write-baseline" in str(call(*command, place).exception.hint)
        assert (tmp_path / place).read_text() == "precious"
    assert call(*command, "/dev/null").exit_code == 0
    assert Path("/dev/null").is_char_device()


@pytest.mark.slow
def test_a_regression_fails_a_job_in_every_form(call, tmp_path: Path):
    for name, mbit in (("good", 40), ("bad", 8)):
        rows = [f"{run},{mbit + run / 10}" for run in range(6)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["i,prague goodput mbps", *rows, ""]))
    assert call("sweep", "good.csv", "-q", "--write-baseline", "b.parquet").exit_code == 0

    def against(source: str, form: str) -> tuple[int, str]:
        done = call("sweep", source, "-q", "--baseline", "b.parquet", "--format", form)
        return done.exit_code, done.stdout

    code, text = against("bad.csv", "text")
    assert (code, "L4S goodput became worse" in text) == (1, True)
    code, text = against("bad.csv", "junit")
    assert (code, 'failures="1"' in text, "<failure message=" in text) == (1, True, True)
    code, text = against("bad.csv", "sarif")
    assert code == 0
    assert [one["ruleId"] for one in json.loads(text)["runs"][0]["results"]] == ["l4s_goodput"]
    code, text = against("good.csv", "junit")
    assert (code, 'failures="0"' in text) == (0, True)
