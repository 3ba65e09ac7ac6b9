"""No event is 0; what could not be judged is missing."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from l4strace.comparison import comparison
from l4strace.comparison.sides import Sides
from l4strace.errors import UsageError
from l4strace.schema.sweep import SWEEP_TABLES
from l4strace.studies import cells
from l4strace.studies.cells import Tables
from l4strace.studies.measuring import one_run
from l4strace.studies.planned import Options, Planned


def measured(path: Path) -> tuple[dict[str, float], list[str]]:
    result = one_run.measure(Planned("run", (str(path),)), Options())
    values = {row["name"]: row["value"] for row in result.measures if row["number"] is None}
    return values, result.run["judged"].split()


def test_a_run_without_spikes_losses_or_misfires_has_zeros(fixtures: Path):
    values, judged = measured(fixtures / "misfire" / "misfire.pcap.xz")
    assert values["misfires"] == 1
    assert "L4S301" in judged
    values, _ = measured(fixtures / "accecn-clean" / "sender.pcap.xz")
    assert (values["spikes"], values["spike_height"], values["spike_length"]) == (0, 0, 0)
    assert values["losses"] == 0
    # Packets alone show no score of the fallback's detector.
    assert "misfires" not in values


def test_a_receiver_sees_no_spike_and_no_absence_of_one(fixtures: Path):
    values, _ = measured(fixtures / "accecn-clean" / "receiver.pcap.xz")
    assert not {"spikes", "spike_height", "spike_length"} & set(values)


def tables(heights: list[float], judged: str | None, hits: list[tuple[int, str]]) -> Tables:
    names = [f"r{number}" for number in range(len(heights))]
    runs = pl.DataFrame({"run": names, "status": "ok", "repetition": names, "p_aqm": "a"})
    rows = pl.DataFrame({"run": names, "name": "spike_height", "value": heights, "unit": "us"})
    found = [{"run": f"r{run}", "rule": "L4S308", "severity": severity} for run, severity in hits]
    return {
        "runs": runs.with_columns(judged=pl.lit(judged, pl.String)),
        "flows": SWEEP_TABLES["flows"].empty(),
        "measures": SWEEP_TABLES["measures"].conform(rows),
        "findings": SWEEP_TABLES["findings"].conform(pl.DataFrame(found))
        if found
        else SWEEP_TABLES["findings"].empty(),
    }


def test_a_fix_that_removes_all_spikes_can_be_compared():
    before = tables([40e3, 44e3, 46e3, 41e3, 42e3], "L4S308", [])
    after = tables([0.0] * 5, "L4S308", [])
    compared = comparison.compare(Sides(before, after, ("a", "b")))
    (spikes,) = compared.measures
    assert spikes.cells["differs"].all()


def test_findings_count_by_severity():
    """A notice is of healthy runs, too: 17 of them once counted as runs with the finding."""
    found = tables([1.0] * 4, "L4S308 L4S309", [(0, "error"), (1, "notice"), (2, "info")])
    assert cells.values(found, "L4S308").sort("run")["value"].to_list() == [1, 0, 0, 0]
    assert cells.values(found, "L4S308:notice").sort("run")["value"].to_list() == [1, 1, 0, 0]
    assert cells.values(found, "L4S309")["value"].to_list() == [0, 0, 0, 0]


def test_a_rule_that_could_not_judge_has_no_value():
    found = tables([1.0] * 2, "L4S308", [(0, "error")])
    runs = found["runs"].with_columns(judged=pl.Series(["L4S308", "L4S301"]))
    assert cells.values({**found, "runs": runs}, "L4S308")["run"].to_list() == ["r0"]
    with pytest.raises(UsageError, match="no run has the measure"):
        cells.values(found, "L4S403")
