"""What a sweep did, in words and as plain data."""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.console import one_line
from l4strace.studies.dataset import parameters_of
from l4strace.studies.planned import Done
from l4strace.wording.quantities import count

MOST_FAILED = 10
MOST_FINDINGS = 8
SCHEMA = 1


def text(place: str, done: Done) -> str:
    """A few lines for the terminal: runs, failed runs with the reason, findings by rule."""
    runs = done.tables["runs"]
    failed = failures(runs)
    lines = [
        f"{count(runs.height, 'run')} in {one_line(place)}: {done.measured:,} measured now, "
        f"{runs.height - done.measured - failed.height:,} kept or from tables, "
        f"{failed.height:,} failed"
    ]
    if names := varied(runs):
        lines.append(f"Parameters: {', '.join(map(one_line, names))}")
    lines += [f"Note: {one_line(note)}" for note in done.notes]
    for run, status, error in failed.head(MOST_FAILED).iter_rows():
        lines.append(f"  {status}: {one_line(run)}: {one_line(error or '')}")
    if failed.height > MOST_FAILED:
        lines.append(f"  ... and {failed.height - MOST_FAILED:,} more: status in table runs")
    rules = by_rule(done.tables["findings"])
    lines += [
        f"  {rule} {severity}: {count(n, 'run')}"
        for rule, severity, n in rules.head(MOST_FINDINGS).iter_rows()
    ]
    if (more := rules.height - MOST_FINDINGS) > 0:
        lines.append(f"  ... and {more:,} more kinds of findings: table findings")
    return "\n".join(lines)


def document(place: str, done: Done) -> dict[str, Any]:
    """The summary of a sweep as plain data; later versions only add keys."""
    runs = done.tables["runs"]
    return {
        "schema": SCHEMA,
        "results": place,
        "runs": runs.height,
        "measured": done.measured,
        "parameters": parameters_of(runs),
        "notes": list(done.notes),
        "failed": failures(runs).to_dicts(),
        "findings": by_rule(done.tables["findings"]).to_dicts(),
    }


def failures(runs: pl.DataFrame) -> pl.DataFrame:
    """Runs without results, with their status and error."""
    return runs.filter(pl.col("status") != "ok").select("run", "status", "error")


def by_rule(findings: pl.DataFrame) -> pl.DataFrame:
    """Warnings and errors: rule, severity and how many runs have it, most first."""
    severe = findings.filter(pl.col("severity").is_in(["error", "warning"]))
    counts = severe.group_by("rule", "severity").agg(runs=pl.col("run").n_unique())
    return counts.sort("runs", "rule", descending=[True, False])


def varied(runs: pl.DataFrame) -> list[str]:
    """Parameters that have more than one value."""
    names = parameters_of(runs)
    return [name for name in names if runs[f"p_{name}"].drop_nulls().n_unique() > 1]
