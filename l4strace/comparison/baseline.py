"""Regressions against a baseline: which measures became worse beyond the noise of its runs.

A baseline is an earlier sweep, or one Parquet file of its numbers that a repository can hold.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from l4strace.comparison import comparison, text
from l4strace.comparison.comparison import Comparison, Measured
from l4strace.comparison.sides import Sides
from l4strace.errors import InputError, reason
from l4strace.evidence import Capture
from l4strace.ingest.file_names import shown
from l4strace.model import Analysis, Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.schema import TABLES
from l4strace.schema.sweep import SWEEP_TABLES
from l4strace.studies import cells, places
from l4strace.studies.cells import Tables
from l4strace.studies.dataset import lying_at, parameters_of, table_of
from l4strace.studies.measures import QUANTITIES
from l4strace.studies.parameters import PREFIX
from l4strace.studies.store import READ

WORSE = {
    "l4s_share": -1, "l4s_of_link": -1, "l4s_goodput": -1, "classic_goodput": -1,
    "utilization": -1, "jain": -1,
    "l4s_queue_delay": 1, "l4s_queue_delay_p99": 1, "classic_queue_delay": 1,
    "relative_queue_delay": 1, "rtt": 1, "losses": 1, "spike_height": 1, "spike_length": 1,
    "findings": 1,
}  # fmt: skip
"""The sign of a change for the worse. What is not listed may change either way for good reasons:
a share of classic reductions is right behind CoDel and wrong behind DualPI2."""
RUNS = "runs"
"""Stands for the rule in findings about runs that cannot be measured."""
IDENTITY = ("run", "status", "repetition")


def packed(tables: Tables) -> bytes:
    """The numbers of all runs, and their warnings and errors, as one Parquet file."""
    kept = [*IDENTITY, *(name for name in ("judged",) if name in tables["runs"].columns)]
    runs = tables["runs"].select(*kept, *(PREFIX + n for n in parameters_of(tables["runs"])))
    numbers = cells.of_runs(tables).select("run", "name", "value")
    severe = tables["findings"].filter(pl.col("severity").is_in(comparison.SEVERE))
    hits = severe.select("run", name="rule", value=pl.lit(1.0)).unique()
    values = pl.concat([numbers, hits]).sort("run", "name")
    buffer = io.BytesIO()
    runs.join(values, on="run", how="left").write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def is_one(path: Path) -> bool:
    """Whether a regular file is a baseline."""
    # A file that is swapped for a link or a pipe just now is not followed and does not block.
    with os.fdopen(os.open(path, READ), "rb") as file:
        try:
            columns = pl.read_parquet_schema(file)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            return False
    return {*IDENTITY, "name", "value"} <= set(columns)


def load(place: str) -> Tables:
    """The tables of a baseline. Raises InputError for any other file."""
    if (dataset := lying_at(place)) is not None:
        return dataset.tables()
    try:
        rows = table_of(places.read(place))
        measures = rows.drop_nulls("value").select("run", "name", "value")
        runs = rows.drop("name", "value").unique("run", maintain_order=True)
        runs.select(IDENTITY)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise InputError(
            f"{place}: not a baseline ({shown(reason(error))})",
            "`l4strace sweep --write-baseline` writes one.",
        ) from error
    is_rule = pl.col("name").str.contains(r"^L4S\d{3}$")
    findings = measures.filter(is_rule).select("run", rule="name", severity=pl.lit("error"))
    return {
        "runs": runs,
        "flows": SWEEP_TABLES["flows"].empty(),
        "findings": SWEEP_TABLES["findings"].conform(findings),
        "measures": SWEEP_TABLES["measures"].conform(measures.filter(~is_rule)),
    }


def against(baseline: Tables, now: Tables, names: tuple[str, str]) -> Comparison:
    """The comparison with a baseline; a single run now is held against the baseline's spread."""
    return comparison.compare(Sides(baseline, now, names), one_is_enough=True)


def judge(compared: Comparison, baseline: Tables, now: Tables) -> Analysis:
    """Regressions as findings, one per measure; and runs that could be measured before."""
    findings, skipped = [], []
    for measured in compared.measures:
        if not measured.judged:
            reason = "no cell has runs enough: the baseline needs at least 3 runs a cell"
            skipped.append(Skipped(reason, rule=measured.name))
        elif (worse := _worse(measured)).height:
            findings.append(_regression(measured, worse, compared))
    if lost := _lost(baseline, now):
        message = f"{len(lost)} runs of the baseline cannot be measured: {', '.join(lost[:5])}"
        findings.append(Finding(Severity.ERROR, Confidence.HIGH, message, rule=RUNS))
    findings.sort(key=lambda finding: -finding.severity)
    return Analysis(tuple(findings), tuple(skipped), tuple(_rules(compared.measures)))


def capture(place: str) -> Capture:
    """Stands for the sweep where an output wants the inputs of a diagnosis."""
    sources = TABLES["sources"].conform(pl.DataFrame({"source": [0], "path": [place]}))
    flows, directions, rounds = (TABLES[name].empty() for name in ("flows", "directions", "rounds"))
    paths, kernel, stats, qdiscs = (
        TABLES[name].empty() for name in ("paths", "kernel", "stats", "qdiscs")
    )
    return Capture(sources, flows, directions, rounds, paths, kernel, stats, qdiscs)


def _worse(measured: Measured) -> pl.DataFrame:
    """Cells that differ for the worse; a finding is worse where it became more frequent."""
    sign = 1 if cells.is_rule(measured.name) else WORSE.get(measured.name, 0)
    return measured.cells.filter(pl.col("differs") & (pl.col("difference") * sign > 0))


def _regression(measured: Measured, worse: pl.DataFrame, compared: Comparison) -> Finding:
    largest = worse.sort(pl.col("difference").abs(), descending=True).row(0, named=True)
    place = text.cell_text(largest, compared.parameters, measured.unit)
    message = (
        f"{measured.title} became worse in {worse.height:,} of {measured.cells.height:,} cells; "
        f"most: {place}"
    )
    severity = Severity.ERROR if cells.is_rule(measured.name) else Severity.WARNING
    measures = (
        Measure("cells", worse.height, "", "0"),
        Measure("before", largest["before"], measured.unit),
        Measure("now", largest["after"], measured.unit),
    )
    action = f"Compare the runs: l4strace compare BASELINE NOW -m {measured.name}"
    return Finding(
        severity, Confidence.HIGH, message, action, 0, rule=measured.name, measures=measures
    )


def _lost(baseline: Tables, now: Tables) -> list[str]:
    ok = pl.col("status") == "ok"
    before = set(baseline["runs"].filter(ok)["run"])
    return sorted(before & set(now["runs"].filter(~ok)["run"]))


def _rules(measures: Iterable[Measured]) -> Iterable[Rule]:
    """Each measure as a rule, so that outputs show what was compared."""
    for measured in measures:
        quantity = QUANTITIES.get(measured.name)
        doc = quantity.doc if quantity else f"Share of the runs with {measured.name}."
        yield Rule(measured.name, measured.name, f"{measured.title} is no worse", _never, doc)
    yield Rule(RUNS, RUNS, "Runs can be measured", _never, "Runs that the baseline measured.")


def _never(_: object) -> list[Finding | Skipped]:
    """Finds nothing: rules of a comparison read sweeps, not evidence, and have already run."""
    return []
