"""flent's own truth: totals of flows, not means of what it draws, and delays from its series."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from l4strace.comparison import comparison, sides, text
from l4strace.studies import cells, page, pool, study
from l4strace.studies.measuring import flent_results, one_run
from l4strace.studies.planned import Options, Planned
from l4strace.studies.sources import discover


def series(start: float, stop: float, step: float, rtt: float, spike: tuple[float, float] = (0, 0),
           height: float = 0.0) -> list[dict[str, float]]:  # fmt: skip
    times = [start + n * step for n in range(int((stop - start) / step))]
    return [
        {
            "t": 1e9 + at,
            "tcp_cwnd": 10.0,
            "tcp_rtt": rtt + (height if spike[0] <= at < spike[1] else 0),
        }
        for at in times
    ]


def document(height: float = 0.0) -> dict[str, Any]:
    """CUBIC for 40 s at 12 Mbit/s, whose few reports show 30, beside 30 s of Prague at 45."""
    pings = [{"t": 1e9 + n * 0.2, "seq": n, "val": 20.0 if n < 25 else 26.0} for n in range(250)]

    def flow(control: str, mbit: float, seconds: float) -> dict[str, Any]:
        carried = int(mbit * 1e6 / 8 * seconds)
        return {"UNITS": "Mbits/s", "CONG_CONTROL": control, "MEAN_VALUE": mbit,
                "BYTES_RECVD": carried, "BYTES_SENT": carried, "ELAPSED_TIME": seconds,
                "TCPI_TOTAL_RETRANS": 0}  # fmt: skip

    return {
        "version": 4,
        "metadata": {
            "NAME": "tcp_2up", "HOST": "10.0.0.2", "LOCAL_HOST": "10.0.0.1",
            "TITLE": "qdisc:codel bandwidth:50Mbit rtt:20ms",
            "SERIES_META": {
                "Ping (ms) ICMP": {"UNITS": "ms"},
                "TCP upload sum": {"UNITS": "Mbits/s", "RUNNER": "SumRunner", "MEAN_VALUE": 57.0},
                "TCP upload::1": flow("cubic", 12.0, 40.0),
                "TCP upload::2": flow("prague", 45.0, 30.0),
            },
        },
        "results": {"TCP upload::1": [None, 30.0, None], "TCP upload::2": [None, None, 45.0]},
        "raw_values": {
            "Ping (ms) ICMP": pings,
            "TCP upload::1": series(5, 45, 0.2, 24.0, (20, 23), height),
            "TCP upload::2": series(15, 45, 0.2, 21.0, (20, 22), height),
        },
        "x_values": [0.0, 10.0, 20.0],
    }  # fmt: skip


def measured(
    tmp_path: Path, data: dict[str, Any], ending: str = ".gz"
) -> tuple[dict[str, float], str]:
    path = tmp_path / f"run.flent{ending}"
    pack = {".gz": gzip.compress, ".xz": lzma.compress, "": bytes}[ending]
    path.write_bytes(pack(json.dumps(data, sort_keys=True).encode()))
    planned = Planned("run", (str(path),), {"bandwidth": "50Mbit"})
    result = one_run.measure(planned, Options())
    whole = {row["name"]: row["value"] for row in result.measures if row["number"] is None}
    return whole, result.run["origin"]


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_goodput_is_the_total_of_each_flow_in_its_own_time(tmp_path: Path, ending: str):
    found, origin = measured(tmp_path, document(), ending)
    assert origin == "flent"
    assert found["classic_goodput"] == pytest.approx(12e6)
    assert found["l4s_goodput"] == pytest.approx(45e6)
    assert found["l4s_share"] == pytest.approx(45 / 57)
    carried = (12 * 40 + 45 * 30) / 40
    assert found["utilization"] == pytest.approx(carried / 50, rel=0.01)


def test_without_totals_each_report_counts_for_its_time():
    data = document()
    meta = data["metadata"]["SERIES_META"]["TCP upload::1"]
    for name in ("MEAN_VALUE", "BYTES_RECVD", "BYTES_SENT"):
        del meta[name]
    data["raw_values"]["TCP upload::1"] = [
        {"t": 0.0, "val": 99.0}, {"t": 9.0, "val": 10.0}, {"t": 10.0, "val": 20.0},
    ]  # fmt: skip
    rate = next(row for row in flent_results.flows(data) if row["label"] == "cubic")
    assert rate["goodput_bps"] == pytest.approx(11e6)


def test_series_become_rtt_queue_delay_and_spikes(tmp_path: Path):
    found, _ = measured(tmp_path, document())
    assert found["l4s_queue_delay"] == pytest.approx(1_000)
    assert found["classic_queue_delay"] == pytest.approx(4_000)
    assert found["ping_queue_delay"] == pytest.approx(6_000)
    assert (found["spikes"], found["spike_height"], found["losses"]) == (0, 0, 0)
    found, _ = measured(tmp_path, document(height=60.0))
    assert found["spikes"] == 1
    assert found["spike_height"] == pytest.approx(64_000)
    assert found["spike_length"] == pytest.approx(3.0, abs=0.25)


def test_a_file_without_series_has_no_spikes_to_judge(tmp_path: Path):
    data = document()
    data["raw_values"] = {}
    found, _ = measured(tmp_path, data)
    assert not {"spikes", "rtt", "ping_rtt"} & set(found)


def test_numbers_of_packets_and_of_flent_are_never_mixed_in_silence(tmp_path: Path, fixtures: Path):
    (tmp_path / "in").mkdir()
    raw = json.dumps(document(), sort_keys=True).encode()
    (tmp_path / "in/flent-1.flent.gz").write_bytes(gzip.compress(raw))
    capture = fixtures / "accecn-clean" / "sender.pcap.xz"
    (tmp_path / "in/packets-1.pcap.xz").write_bytes(capture.read_bytes())
    order = study.Order((str(tmp_path / "in"),), str(tmp_path / "out"))
    tables = study.sweep(order, pool.on_cores(1)).tables
    drawn = page.data(tables, tables["runs"], {})
    assert drawn["origins"]["names"] == ["flent", "packets"]
    assert "origin" in [axis["name"] for axis in drawn["parameters"]]
    parts = [
        {name: table.filter(pl.col("run") == run) for name, table in tables.items()}
        for run in ("flent-1", "packets-1")
    ]
    compared = comparison.compare(sides.Sides(parts[0], parts[1], ("a", "b")))
    assert "Numbers from flent -> packets, which are not" in text.render(compared)


@pytest.mark.slow
def test_the_spike_table_by_rtt_and_threshold_with_and_without_a_bug(tmp_path: Path):
    """The recipe of docs/studies.md: names carry parameters, cells have medians, 0 is a value."""
    folder = tmp_path / "in"
    folder.mkdir()
    for variant, height in (("bug", 60.0), ("fixed", 0.0)):
        for rtt in (10, 20):
            for rep in range(4):
                data = document(height=height and height + rtt + rep / 10)
                data["metadata"]["TITLE"] = ""
                raw = json.dumps(data, sort_keys=True).encode()
                path = folder / f"{variant}-rtt{rtt}ms-ce1000us-{rep}.flent.gz"
                path.write_bytes(gzip.compress(raw))
    how = discover.How("{variant}-rtt{rtt:ms}-ce{ce_threshold:us}-{rep:}")
    order = study.Order((str(folder),), str(tmp_path / "out"), how, page=False)
    tables = study.sweep(order, pool.on_cores(2)).tables
    found = cells.cells(tables, "spike_height", ["variant", "rtt"])
    heights = {(v, r): m for v, r, m in found.select("p_variant", "p_rtt", "median").rows()}
    assert heights["fixed", 10] == heights["fixed", 20] == 0
    assert 70_000 < heights["bug", 10] < heights["bug", 20]
    both = sides.of_parameter(tables, "variant", ["bug", "fixed"])
    (compared,) = comparison.compare(both, ["spike_height"]).measures
    assert compared.cells["differs"].all()
