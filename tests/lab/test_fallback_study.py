"""The published study of the fallback bug: each number of its tables, from its own results."""

from pathlib import Path

import polars as pl
import pytest

from l4strace.comparison import comparison, sides, text
from l4strace.comparison.comparison import Measured
from l4strace.studies import cells, pool, study
from l4strace.studies.cells import Tables

UNPATCHED, PATCHED = "5.15.72-56eae305c-prague-91", "5.15.725.15-prague-lhagen+"
TRACED = "5.15.72-tracepoints-with-patch"
KERNELS = {"unpatched": UNPATCHED, "patched": PATCHED}
RTTS = (4, 8, 16, 32, 64, 128)

LINK = {
    ("unpatched", "cubic", "DualPI2"): """
        4    25.3  34.4  49.3  60.0  39.7  26.6
        8    20.1  25.8  41.8  34.2  24.6  18.6
        16   14.1  21.5  24.1  22.9  17.5  13.2
        32    9.6  19.8  15.9  17.0  13.0   9.8
        64    7.1  11.5  11.7  12.6   9.6   6.7
        128   5.9   7.4   8.7   9.0   7.1   4.9
        256   5.0   5.0   6.2   6.7   4.5   3.6""",
    ("patched", "cubic", "DualPI2"): """
        4    25.1  34.4  49.7  60.0  40.0  27.9
        8    32.2  45.9  66.3  75.4  72.5  65.5
        16   31.4  42.5  57.6  61.9  61.5  60.5
        32   29.8  38.7  54.6  59.6  61.3  51.6
        64   29.2  38.9  55.3  60.8  58.6  38.4
        128  31.3  42.7  59.4  60.5  52.2  22.5
        256  34.1  45.9  57.9  54.8  36.1  11.1""",
    ("patched", "cubic", "CoDel"): """
        4    62.7  64.3  66.8  68.1  60.5  55.3
        32   40.7  46.4  53.8  54.8  51.3  40.3
        128  36.9  40.9  50.1  53.6  44.9  31.1
        256  72.6  49.7  48.1  51.2  41.5  28.5""",
    ("unpatched", "bbr2", "DualPI2"): "256 5.4 3.8 4.2 5.6 2.8 0.6",
    ("patched", "bbr2", "DualPI2"): "256 43.5 27.2 24.1 29.6 18.5 4.0",
    ("unpatched", "bbr2", "CoDel"): "256 45.1 28.2 14.6 15.9 11.3 7.5",
    ("patched", "bbr2", "CoDel"): "256 53.3 28.5 14.8 16.2 11.2 7.6",
}
"""Prague's goodput in percent of the link: rows are rates in Mbit/s, columns RTTs in ms."""

SUMMARY = {
    ("unpatched", "cubic", "DualPI2"): (18.7, 14, 26, 0, "256/128", 4.8),
    ("patched", "cubic", "DualPI2"): (50.7, 0, 1, 1, "256/128", 14.5),
    ("unpatched", "bbr2", "DualPI2"): (19.5, 16, 23, 0, "256/128", 0.7),
    ("patched", "bbr2", "DualPI2"): (47.7, 2, 3, 0, "128/128", 4.3),
    ("unpatched", "cubic", "CoDel"): (52.7, 0, 0, 0, "256/128", 29.7),
    ("patched", "cubic", "CoDel"): (54.1, 0, 0, 0, "256/128", 32.6),
    ("unpatched", "bbr2", "CoDel"): (42.6, 2, 8, 0, "128/128", 7.9),
    ("patched", "bbr2", "CoDel"): (43.8, 2, 8, 1, "128/128", 7.6),
}
"""Mean share, cells below 10 %, below 20 %, above 80 %, and the lowest cell (rate/RTT)."""

POINT = {
    ("unpatched", "cubic"): (32.9, 43.8, (11.7, 8.6, 8.6, 8.6, 8.6)),
    ("patched", "cubic"): (44.5, 44.3, (43.7, 43.6, 44.1, 43.6, 44.5)),
    ("unpatched", "bbr2"): (1.5, 43.6, (19.0, 17.0, 10.6, 6.9, 6.9)),
    ("patched", "bbr2"): (1.5, 44.7, (43.8, 43.7, 36.0, 37.9, 36.8)),
}
"""Mbit/s at 100 Mbit/s and 10 ms: FIFO (ECN) and CoDel with 2 BDP, DualPI2 with 0.5 to 8 BDP."""


@pytest.fixture(scope="module")
def extend(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return swept(shared_data / "fallback-study/extend.csv.gz", tmp_path_factory)


@pytest.fixture(scope="module")
def reproduce(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return swept(shared_data / "fallback-study/reproduce.csv.gz", tmp_path_factory)


def swept(table: Path, factory: pytest.TempPathFactory) -> Tables:
    order = study.Order((str(table),), str(factory.mktemp("study")))
    return study.sweep(order, pool.on_cores(1)).tables


def grid(tables: Tables, measure: str, key: tuple[str, str, str]) -> pl.DataFrame:
    """Cells of rate and RTT for one kernel, rival and AQM."""
    kernel, rival, aqm = key
    by = ["kernel", "classic_cca", "aqm", "rate", "rtt"]
    return cells.cells(tables, measure, by).filter(
        p_kernel=KERNELS.get(kernel, kernel), p_classic_cca=rival, p_aqm=aqm
    )


def percents(tables: Tables, measure: str, key: tuple[str, str, str]) -> dict[int, list[float]]:
    rows = grid(tables, measure, key).sort("p_rate", "p_rtt").select("p_rate", "mean").iter_rows()
    found: dict[int, list[float]] = {}
    for rate, mean in rows:
        found.setdefault(rate, []).append(round(100 * mean, 1))
    return found


@pytest.mark.parametrize("key", LINK, ids="-".join)
def test_goodput_of_the_link(extend: Tables, key: tuple[str, str, str]):
    found = percents(extend, "l4s_of_link", key)
    for line in LINK[key].strip().splitlines():
        rate, *expected = line.split()
        assert found[int(rate)] == [float(value) for value in expected]


def test_the_patch_changes_codel_in_two_cells_only(extend: Tables):
    before = percents(extend, "l4s_of_link", ("unpatched", "cubic", "CoDel"))
    after = percents(extend, "l4s_of_link", ("patched", "cubic", "CoDel"))
    assert before[256][:2] == [33.7, 39.7]
    assert after[256][:2] == [72.6, 49.7]
    rest = [
        abs(a - b)
        for rate in before
        for rtt, a, b in zip(RTTS, before[rate], after[rate], strict=True)
        if (rate, rtt) not in {(256, 4), (256, 8)}
    ]
    assert max(rest) < 3.2


@pytest.mark.parametrize("key", SUMMARY, ids="-".join)
def test_summary_over_the_cells(extend: Tables, key: tuple[str, str, str]):
    means = grid(extend, "l4s_share", key)
    assert means["runs"].unique().to_list() == [30]
    row = cells.across(means, ["kernel"], (0.1, 0.2)).row(0, named=True)
    above = means.filter(pl.col("mean") > 0.8).height
    low = means.sort("mean").row(0, named=True)
    assert row["cells"] == 42
    assert (
        round(100 * row["mean"], 1), row["below_0.1"], row["below_0.2"], above,
        f"{low['p_rate']}/{low['p_rtt']}", round(100 * row["lowest"], 1),
    ) == SUMMARY[key]  # fmt: skip


def test_fallback_state(extend: Tables):
    dualpi2 = percents(extend, "classic_state", (TRACED, "cubic", "DualPI2"))
    assert dualpi2[4] == [98.4, 98.0, 97.5, 96.8, 94.4, 84.0]
    others = [value for rate, row in dualpi2.items() if rate != 4 for value in row]
    assert sorted(others)[-2:] == [0.0, 0.7]
    codel = percents(extend, "classic_state", (TRACED, "cubic", "CoDel"))
    assert [codel[rate][-1] for rate in (16, 32, 64, 128, 256)] == [80.0, 35.3, 36.4, 50.0, 20.0]
    assert codel[256][0] == 41.5
    bbr2 = percents(extend, "classic_state", (TRACED, "bbr2", "CoDel"))
    assert [bbr2[128][0], bbr2[256][0]] == [2.0, 2.9]


@pytest.mark.parametrize("key", POINT, ids="-".join)
def test_one_point_of_the_first_study(reproduce: Tables, key: tuple[str, str]):
    by = ["kernel", "classic_cca", "aqm", "bdp"]
    means = cells.cells(reproduce, "l4s_goodput", by).filter(
        p_kernel=KERNELS[key[0]], p_classic_cca=key[1]
    )
    assert means["runs"].unique().to_list() == [10]
    found = {(aqm, bdp): mean for aqm, bdp, mean in means.select("p_aqm", "p_bdp", "mean").rows()}
    mbit = {cell: round(value / 1e6, 1) for cell, value in found.items()}
    dualpi2 = tuple(mbit["DualPI2", bdp] for bdp in (0.5, 1.0, 2.0, 4.0, 8.0))
    assert (mbit["FIFO (ECN)", 2.0], mbit["CoDel", 2.0], dualpi2) == POINT[key]


def test_the_one_spread_that_the_study_names(reproduce: Tables):
    by = ["kernel", "classic_cca", "aqm", "bdp"]
    cell = cells.cells(reproduce, "l4s_goodput", by).filter(
        p_kernel=PATCHED, p_classic_cca="cubic", p_aqm="FIFO (ECN)", p_bdp=2.0
    )
    assert round(cell["deviation"][0] / 1e6) == 23


def test_nothing_is_measured_where_results_are_given(shared_data: Path, tmp_path: Path):
    order = study.Order((str(shared_data / "fallback-study/extend.csv.gz"),), str(tmp_path / "out"))
    done = study.sweep(order, pool.on_cores(1))
    assert done.measured == 0
    assert done.tables["runs"].height == 10_248


def compared(extend: Tables, rival: str) -> tuple[Measured, str]:
    """The share of L4S, unpatched against patched, beside one rival."""
    tables = sides.where(extend, [f"classic_cca={rival}"])
    both = sides.of_parameter(tables, "kernel", ["prague-91", "lhagen"])
    result = comparison.compare(both, ["l4s_share"])
    return result.measures[0], text.render(result)


def differing(measured: Measured, aqm: str) -> set[tuple[int, int]]:
    cells = measured.cells.filter(pl.col("differs") & (pl.col("p_aqm") == aqm))
    return set(cells.select("p_rate", "p_rtt").iter_rows())


def test_the_patch_cures_dualpi2_and_changes_two_cells_of_codel(extend: Tables):
    measured, report = compared(extend, "cubic")
    everywhere = {(rate, rtt) for rate in (8, 16, 32, 64, 128, 256) for rtt in RTTS}
    assert differing(measured, "DualPI2") == everywhere
    assert differing(measured, "CoDel") == {(256, 4), (256, 8)}
    assert "aqm CoDel: differs in 2 of 42 cells, only at rtt 4 to 8, rate 256" in report
    assert "rtt 4, rate 256: 35 % -> 76 %, +41 points [+36" in report
    assert "aqm DualPI2: differs in 36 of 42 cells, only at rate 8 to 256; there +3" in report
    assert "cells in which L4S gets below 20 %: 26 -> 1" in report
    cured = measured.cells.filter(pl.col("differs") & (pl.col("p_aqm") == "DualPI2"))
    assert (cured["low"] > 0).all()


def test_beside_bbr2_the_patch_changes_codel_at_128_mbit_too(extend: Tables):
    measured, _ = compared(extend, "bbr2")
    assert differing(measured, "CoDel") == {(128, 4), (256, 4)}
