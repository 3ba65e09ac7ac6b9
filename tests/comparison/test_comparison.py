"""Comparisons: the statistics by simulation and against scipy, and what is claimed of whom."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from l4strace import errors
from l4strace.comparison import (
    comparison,
    document,
    libraries,
    sides,
    statistics,
    text,
)
from l4strace.comparison.sides import Sides
from l4strace.schema.sweep import SWEEP_TABLES
from l4strace.studies.cells import Tables

STUDIES = 1_000
WHOLE_STUDIES = int(os.environ.get("L4STRACE_STUDIES", "20"))
"""Studies that are compared from their runs on, at 50 ms each."""


def samples(n: int, shift: float, spread: float = 1.0, seed: int = 1) -> tuple[Any, Any]:
    """Runs of both sides, one study per row."""
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (STUDIES, n)), rng.normal(shift, spread, (STUDIES, n))


@pytest.mark.parametrize("method", ["holm", "fdr_bh"])
def test_no_difference_is_called_in_95_percent_of_studies_without_one(
    monkeypatch: pytest.MonkeyPatch, method: str
):
    """Each of 1,000 studies has 10 cells; it calls a difference when any of its cells does."""
    # statsmodels collects garbage at each call, which takes as long as the whole test.
    monkeypatch.setattr("gc.collect", lambda: 0)
    rng = np.random.default_rng(2)
    a, b = rng.normal(0, 1, (2, STUDIES * 10, 10))
    p = stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue.reshape(-1, 10)
    called = [any(q < 0.05 for q in statistics.corrected(row.tolist(), method)) for row in p]
    assert np.mean(called) <= 0.05


@pytest.mark.slow
def test_a_study_without_a_difference_reports_none():
    """From runs to report, with two measures of 8 cells; one study in twenty may call."""
    called = 0
    for seed in range(WHOLE_STUDIES):
        tables = study(NOTHING, seed=1000 + seed)
        other = study(NOTHING, seed=5000 + seed)["measures"].with_columns(name=pl.lit("losses"))
        tables["measures"] = pl.concat([tables["measures"], other])
        compared = comparison.compare(sides.of_parameter(tables, "kernel", ["old", "new"]))
        called += any(one.cells["differs"].any() for one in compared.measures)
    assert called / WHOLE_STUDIES <= 0.05 + 2 * (0.05 * 0.95 / WHOLE_STUDIES) ** 0.5


def test_a_difference_called_visible_is_found_in_80_percent_of_studies():
    shift = statistics.visible(1.0, 10, 10, 1)
    assert shift
    a, b = samples(10, shift, seed=3)
    p = stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue
    assert 0.77 <= (p < 0.05).mean() <= 0.83


def test_known_numbers():
    a, b = [1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 9.0]
    (effect,) = statistics.effects([(a, b)])
    assert (effect.before, effect.after, effect.difference) == (2.5, 5.25, 2.75)
    # Of 70 ways to deal the runs four are as far apart on either side, and six further.
    assert effect.p == pytest.approx(10 / 70, abs=0.03)
    # Cohen's d 2.75 / sqrt(5.2917), times Hedges' correction 1 - 3 / (4 * 6 - 1).
    assert effect.effect_size == pytest.approx(
        2.75 / np.sqrt((5 / 3 + 26.75 / 3) / 2) * (1 - 3 / 23), rel=1e-3
    )
    assert effect.low is not None
    assert effect.high is not None
    assert effect.low < 2.75 < effect.high


def test_findings_are_counted_exactly():
    """Fisher: 2 / C(20, 10), both tails."""
    (effect,) = statistics.effects([([0.0] * 10, [1.0] * 10)])
    assert effect.p == pytest.approx(2 / 184_756)
    assert effect.effect_size is None
    (same,) = statistics.effects([([1.0] * 3, [1.0] * 3)])
    assert (same.p, same.difference) == (1.0, 0.0)


def test_one_run_each_has_no_interval():
    (effect,) = statistics.effects([([1.0], [9.0])])
    assert (effect.low, effect.high, effect.p, effect.effect_size) == (None,) * 4


def test_corrections_and_the_test_over_cells():
    assert statistics.corrected([0.01, None, 0.04], "holm") == [0.02, None, 0.04]
    assert statistics.corrected([0.01, 0.04], "fdr_bh") == [0.02, 0.04]
    assert statistics.paired([1.0] * 5) is None
    assert statistics.paired([1, 2, 3, 4, 5, 6]) == pytest.approx(2 / 64)


def study(shares: dict[tuple[str, str, int], float], runs: int = 8, seed: int = 5) -> Tables:
    """A sweep: mean share by kernel, AQM and rate."""
    rng = np.random.default_rng(seed)
    rows = [
        {"run": f"{kernel}-{aqm}-{rate}-{i}", "status": "ok", "repetition": str(i),
         "p_kernel": kernel, "p_aqm": aqm, "p_rate": rate,
         "value": float(rng.normal(share, 0.01))}
        for (kernel, aqm, rate), share in shares.items()
        for i in range(runs)
    ]  # fmt: skip
    frame = pl.DataFrame(rows)
    measures = frame.select("run", "value", name=pl.lit("l4s_share"), unit=pl.lit("share"))
    return {
        "runs": frame.drop("value"),
        "flows": SWEEP_TABLES["flows"].empty(),
        "findings": SWEEP_TABLES["findings"].empty(),
        "measures": SWEEP_TABLES["measures"].conform(measures),
    }


MISFIRE = {
    ("old", "codel", 4): 0.5, ("new", "codel", 4): 0.5,
    ("old", "codel", 40): 0.5, ("new", "codel", 40): 0.5,
    ("old", "dualpi2", 4): 0.1, ("new", "dualpi2", 4): 0.5,
    ("old", "dualpi2", 40): 0.1, ("new", "dualpi2", 40): 0.5,
}  # fmt: skip


NOTHING = dict.fromkeys(
    [(k, aqm, rate) for k in ("old", "new") for aqm in ("codel", "pie") for rate in (4, 8, 16, 32)],
    0.5,
)


def test_the_report_names_where_it_differs():
    both = sides.of_parameter(study(MISFIRE), "kernel", ["old", "new"])
    report = text.render(comparison.compare(both))
    assert "kernel: old -> new" in report
    assert "paired by aqm, rate" in report
    assert "differs in 2 of 4 cells" in report
    assert "cells in which L4S gets below 20 %: 2 -> 0" in report
    assert "aqm codel: differs in no cell of 2" in report
    assert "aqm dualpi2, rate 40: " in report
    assert "8 and 8 runs a cell can show" in report


def test_no_difference_is_stated_with_what_could_be_seen():
    equal = dict.fromkeys(MISFIRE, 0.5)
    both = sides.of_parameter(study(equal), "kernel", ["old", "new"])
    report = text.render(comparison.compare(both))
    assert "No difference shown: l4s_share" in report
    assert "can show" in report


def test_one_run_a_side_claims_nothing():
    both = sides.of_parameter(study(MISFIRE, runs=1), "kernel", ["old", "new"])
    compared = comparison.compare(both)
    assert compared.measures[0].cells["differs"].to_list() == [None] * 4
    report = text.render(compared)
    assert "One run a side: whatever differs below may be chance" in report
    assert "not judged: one run a side" in report


def test_what_is_equal_in_single_runs_is_named_in_one_line():
    tables = study({("old", "pie", 4): 0.5, ("new", "pie", 4): 0.5}, runs=1)
    rows = tables["measures"]
    equal = rows.with_columns(name=pl.lit("losses"), unit=pl.lit("packet"), value=pl.lit(0.0))
    tables["measures"] = pl.concat([rows, equal])
    compared = comparison.compare(sides.of_parameter(tables, "kernel", ["old", "new"]))
    lines = text.render(compared).splitlines()
    assert lines[-1].startswith("Equal in all pairs, not judged: losses")
    assert [line for line in lines if "(losses)" in line] == []
    assert [line for line in lines if "(l4s_share)" in line]


def test_equal_runs_have_no_spread_of_rounding_errors():
    tables = study({("old", "pie", 4): 0.5, ("new", "pie", 4): 0.7}, runs=3)
    sums = pl.col("value").round(1) + pl.Series([0.0, 1e-16, 3e-16] * 2)
    tables["measures"] = tables["measures"].with_columns(value=sums)
    compared = comparison.compare(sides.of_parameter(tables, "kernel", ["old", "new"]))
    assert compared.measures[0].visible is None
    assert "can show" not in text.render(compared)


def test_cells_of_one_side_are_left_out_and_counted():
    tables = study({key: share for key, share in MISFIRE.items() if key != ("new", "codel", 4)})
    compared = comparison.compare(sides.of_parameter(tables, "kernel", ["old", "new"]))
    assert compared.unpaired == 1
    assert compared.measures[0].cells.height == 3
    assert document.document(compared)["unpaired_cells"] == 1


def test_two_sweeps_pair_by_name_where_no_parameter_varies():
    """But not where runs have the numbers of repetitions, which are no pairs."""
    before, after = (study({("k", "pie", 4): share}, runs=4) for share in (0.1, 0.5))
    repeated = comparison.compare(Sides(before, after, ("a", "b")))
    assert repeated.parameters == ()
    assert repeated.measures[0].cells["runs_before"].to_list() == [4]
    unknown = pl.lit(None, pl.String)
    sides_ = [{**t, "runs": t["runs"].with_columns(repetition=unknown)} for t in (before, after)]
    compared = comparison.compare(Sides(*sides_, ("a", "b")))
    assert compared.parameters == ("run",)
    assert compared.measures[0].cells.height == 4


def test_a_rule_that_one_side_found_is_compared():
    tables = study(MISFIRE)
    old = tables["runs"].filter(p_kernel="old", p_aqm="dualpi2").select("run")
    hits = old.with_columns(number=pl.lit(0), rule=pl.lit("L4S301"), severity=pl.lit("error"))
    tables = {**tables, "findings": SWEEP_TABLES["findings"].conform(hits)}
    compared = comparison.compare(sides.of_parameter(tables, "kernel", ["old", "new"]), ["L4S301"])
    cells = compared.measures[0].cells
    assert cells["difference"].to_list() == [0.0, 0.0, -1.0, -1.0]
    assert cells["differs"].to_list() == [False, False, True, True]


def test_what_cannot_be_compared_is_a_usage_error():
    tables = study(MISFIRE)
    for by, of, why in (
        ("kernels", ["a", "b"], "no parameter"), ("kernel", ["old"], "two values"),
        ("kernel", ["old", "ol"], "both sides"), ("kernel", ["old", "x"], "is not a value"),
        ("aqm", ["d", "e"], "several"),
    ):  # fmt: skip
        with pytest.raises(errors.UsageError, match=why):
            sides.of_parameter(tables, by, of)
    with pytest.raises(errors.UsageError, match="names no parameter"):
        sides.where(tables, ["nonsense"])
    assert sides.where(tables, ["aqm=codel"])["runs"].height == 32


def test_a_missing_library_is_one_clear_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(errors.UsageError, match="needs scipy") as raised:
        libraries.check()
    assert "l4strace[compare]" in raised.value.hint
