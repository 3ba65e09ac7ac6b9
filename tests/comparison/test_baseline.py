"""Regressions beyond the noise of a baseline, and what a better or noisier sweep is: none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from l4strace import errors
from l4strace.comparison import baseline
from l4strace.model import Analysis, Severity
from l4strace.schema.sweep import SWEEP_TABLES
from l4strace.studies.cells import Tables


def sweep(delay: float, runs: int, seed: int = 1, finding: bool = False) -> Tables:
    """Queue delays of two cells, about ``delay`` us in the second one."""
    rng = np.random.default_rng(seed)
    rows = [
        {"run": f"{aqm}-{i}", "status": "ok", "repetition": str(i), "p_aqm": aqm,
         "value": float(rng.normal(mean, 20))}
        for aqm, mean in (("codel", 5000.0), ("dualpi2", delay)) for i in range(runs)
    ]  # fmt: skip
    frame = pl.DataFrame(rows)
    measures = frame.select("run", "value", name=pl.lit("l4s_queue_delay"), unit=pl.lit("us"))
    hits = frame.filter(p_aqm="dualpi2").select(
        "run", rule=pl.lit("L4S301"), severity=pl.lit("error")
    )
    findings = SWEEP_TABLES["findings"].conform(hits)
    return {
        "runs": frame.drop("value"),
        "flows": SWEEP_TABLES["flows"].empty(),
        "findings": findings if finding else findings.clear(),
        "measures": SWEEP_TABLES["measures"].conform(measures),
    }


def judged(before: Tables, now: Tables) -> Analysis:
    return baseline.judge(baseline.against(before, now, ("a", "b")), before, now)


@pytest.mark.parametrize("runs", [1, 5])
def test_a_regression_is_a_finding_also_of_a_single_run(runs: int):
    (found,) = judged(sweep(400, 8), sweep(900, runs, seed=2)).findings
    assert (found.rule, found.severity) == ("l4s_queue_delay", Severity.WARNING)
    assert "became worse in 1 of 2 cells; most: aqm dualpi2: " in found.message


@pytest.mark.parametrize("delay", [400, 100])
def test_noise_and_improvement_are_none(delay: float):
    analysis = judged(sweep(400, 8), sweep(delay, 3, seed=2))
    assert analysis.findings == ()
    assert "l4s_queue_delay" in [rule.code for rule in analysis.rules]


def test_runs_of_a_bisect_have_the_same_names_at_each_step():
    """`good/1.pcap` and `step/1.pcap`: ten good runs are one cell, not ten pairs."""
    before, now = (
        {name: table.filter(pl.col("run").str.starts_with("dualpi2")) for name, table in t.items()}
        for t in (sweep(400, 8), sweep(900, 2, seed=2))
    )
    runs = [t["runs"].with_columns(repetition=pl.lit(None, pl.String)) for t in (before, now)]
    (found,) = judged({**before, "runs": runs[0]}, {**now, "runs": runs[1]}).findings
    assert found.rule == "l4s_queue_delay"


def test_a_finding_that_was_not_there_is_an_error():
    found = judged(sweep(400, 8), sweep(400, 8, seed=2, finding=True)).findings
    assert [(one.rule, one.severity) for one in found] == [("L4S301", Severity.ERROR)]


def test_a_baseline_of_few_runs_judges_nothing():
    analysis = judged(sweep(400, 2), sweep(900, 1))
    assert analysis.findings == ()
    assert [one.rule for one in analysis.skipped] == ["l4s_queue_delay"]


def test_a_run_that_could_be_measured_before():
    now = sweep(400, 8, seed=2)
    failed = pl.when(pl.col("run") == "codel-0").then(pl.lit("timeout")).otherwise("status")
    now = {**now, "runs": now["runs"].with_columns(status=failed)}
    (found,) = judged(sweep(400, 8), now).findings
    assert (found.rule, found.severity) == ("runs", Severity.ERROR)


def test_one_file_holds_a_baseline(tmp_path: Path):
    place = str(tmp_path / "base.parquet")
    tables = sweep(400, 8, finding=True)
    Path(place).write_bytes(baseline.packed(tables))
    assert baseline.is_one(Path(place))
    loaded = baseline.load(place)
    assert loaded["runs"].sort("run").equals(tables["runs"].sort("run"))
    assert judged(loaded, tables).findings == ()
    assert judged(tables, loaded).findings == ()
    Path(place).write_bytes(b"none")
    with pytest.raises(errors.InputError, match="not a baseline"):
        baseline.load(place)
