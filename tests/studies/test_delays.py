"""The distribution of queue delay: of one run, over the runs of a study, and as curves."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest

from l4strace import errors
from l4strace.schema.sweep import SWEEP_TABLES
from l4strace.studies import delay_figure
from l4strace.studies.cells import Tables
from l4strace.studies.dataset import Dataset
from l4strace.studies.measuring import delay_rows, one_run
from l4strace.studies.planned import Options, Planned
from tests.support import frames
from tests.support.frames import frame, rounds

SHARES = (0.0, 0.5, 1.0)


def of_rounds(delays_us: list[float], packets: list[int]) -> dict[float, float]:
    run = frames.evidence(
        sources=frame("sources"),
        flows=frame("flows"),
        directions=frame("directions", data_ect1=1000),
        rounds=rounds(
            len(packets), rtt_mean_us=[10_000 + one for one in delays_us], acked_packets=packets
        ),
    )
    table = delay_rows.table(run, "r")
    assert table["l4s"].to_list() == [True] * len(delay_rows.SHARES)
    return dict(table.select("share", "queue_delay_us").iter_rows())


def test_a_round_counts_by_its_packets():
    found = of_rounds([9000.0, 100.0, 300.0], [10, 80, 10])
    assert (found[0.0], found[0.5], found[0.8], found[0.95], found[1.0]) == (
        100, 100, 100, 9000, 9000,
    )  # fmt: skip
    assert found[0.85] == found[0.9] == 300


def test_the_recorded_misfire_has_both_classes(fixtures: Path):
    path = str(fixtures / "misfire" / "misfire.pcap.xz")
    rows = pl.DataFrame(one_run.measure(Planned("m", (path,)), Options()).delays)
    median = dict(rows.filter(share=0.5).select("l4s", "queue_delay_us").iter_rows())
    assert median[True] < 1000 < median[False]
    for _, part in rows.group_by("l4s"):
        assert part["queue_delay_us"].is_sorted()


def study(by_run: dict[str, tuple[str, list[float]]]) -> Tables:
    """Runs with their AQM and their delays (us) at the shares 0, 0.5 and 1."""
    names = list(by_run)
    runs = pl.DataFrame({"run": names, "status": "ok", "p_aqm": [by_run[n][0] for n in names]})
    points = [
        {"run": name, "l4s": True, "share": share, "queue_delay_us": delay}
        for name, (_, delays) in by_run.items()
        for share, delay in zip(SHARES, delays, strict=True)
    ]
    tables = {name: table.empty() for name, table in SWEEP_TABLES.items()}
    return tables | {"runs": runs, "delays": pl.DataFrame(points)}


def at(curve: delay_figure.Curve, delay_ms: float) -> float:
    place = min(
        range(len(curve.delays_ms)), key=lambda n: abs(math.log(curve.delays_ms[n] / delay_ms))
    )
    return curve.shares[place]


def test_each_run_counts_as_much_as_any_other():
    tables = study({"a": ("red", [1e3, 1e3, 1e3]), "b": ("red", [4e3, 4e3, 4e3])})
    (curve,) = delay_figure.curves(tables)
    assert (curve.runs, curve.group) == (2, ())
    assert (at(curve, 0.5), at(curve, 2.0), curve.shares[-1]) == (0.0, 0.5, 1.0)


def test_between_points_a_curve_is_linear():
    tables = study({"a": ("red", [0.0, 1e3, 3e3])})
    (curve,) = delay_figure.curves(tables)
    assert at(curve, 0.5) == pytest.approx(0.25, abs=0.01)
    assert at(curve, 2.0) == pytest.approx(0.75, abs=0.02)


def test_a_curve_for_each_value_of_a_parameter():
    tables = study({"a": ("red", [1e3, 1e3, 1e3]), "b": ("pie", [4e3, 4e3, 4e3])})
    traces = delay_figure.drawn(tables, ["aqm"]).traces
    assert [trace["name"] for trace in traces] == ["L4S, aqm pie, n=1", "L4S, aqm red, n=1"]
    assert len({trace["line"]["color"] for trace in traces}) == 2


def test_what_cannot_be_drawn_is_said():
    tables = study({f"r{n}": (f"aqm{n}", [1e3, 1e3, 1e3]) for n in range(7)})
    for each in (["speed"], ["aqm"]):
        with pytest.raises(errors.UsageError):
            delay_figure.curves(tables, each)
    empty = {**tables, "delays": SWEEP_TABLES["delays"].empty()}
    with pytest.raises(errors.UsageError, match="no run has queue delays"):
        delay_figure.curves(empty)


def test_a_sweep_of_an_older_version_has_no_distributions(tmp_path: Path):
    dataset = Dataset(str(tmp_path / "old"))
    dataset.begin({})
    dataset.add_tables(study({"a": ("red", [1e3, 1e3, 1e3])}))
    (kept,) = (tmp_path / "old" / "delays").iterdir()
    assert dataset.tables()["delays"].height == len(SHARES)
    kept.unlink()
    tables = dataset.tables()
    assert (tables["runs"].height, tables["delays"].height) == (1, 0)
