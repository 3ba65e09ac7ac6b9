"""One run measured: the function that every sweep calls, in a worker process or on a cluster.

It reads, derives and judges as `diagnose` does, so that a row of a sweep agrees with
`diagnose --json` of the same files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from l4strace import pipeline
from l4strace.evidence import Evidence
from l4strace.model import Analysis, Finding, Severity
from l4strace.pipeline import Asked
from l4strace.studies import measures
from l4strace.studies.measuring import delay_rows, flow_rows, results
from l4strace.studies.parameters import rate_bps
from l4strace.studies.planned import Options, Page, Planned, Result, Row, row
from l4strace.studies.store import Store

MISFIRE = "L4S301"
ONE_ROW = "A row of a sweep is one run: name each of them in a line of its own."


def measure(planned: Planned, options: Options, page: Page | None = None) -> Result:
    """Rows of the five tables; with ``page`` also its page in those results at that path.

    Raises InputError for what cannot be read, UsageError for files of several runs.
    """
    made = results.sort(planned.files)
    if not made.inputs:
        return _from_results(planned, made)
    asked = Asked(
        select=options.select, ignore=options.ignore, digests=page is not None, one_run=ONE_ROW
    )
    (run,) = pipeline.diagnose(made.inputs, asked)
    evidence, analysis = run.evidence, run.analysis
    if page:
        _write_page(page, evidence, analysis)
    flows = flow_rows.table(evidence, planned.name)
    origin, own = "packets", _of_evidence(planned.name, evidence, analysis, flows)
    if flows.is_empty() and made.any:
        origin, flows = made.flows(planned.name)
        own += _of_results(planned.name, made)
    elif evidence.directions.is_empty():
        origin = "kernel"
    opening = _opening(evidence, analysis)
    return Result(
        row(planned) | {"status": "ok", "origin": origin, "judged": judged(analysis)} | opening,
        flows=flows.to_dicts(),
        delays=delay_rows.table(evidence, planned.name).to_dicts(),
        findings=[
            _finding(planned.name, number, one) for number, one in enumerate(analysis.findings)
        ],
        measures=[
            *_of_flows(planned, flows),
            *own,
            *_of_findings(planned.name, analysis.findings),
        ],
    )


def _from_results(planned: Planned, made: results.Made) -> Result:
    """A run that left only what its load generator printed."""
    origin, flows = made.flows(planned.name)
    return Result(
        row(planned) | {"status": "ok", "origin": origin},
        flows=flows.to_dicts(),
        measures=[*_of_flows(planned, flows), *_of_results(planned.name, made)],
    )


def _of_results(run: str, made: results.Made) -> list[Row]:
    """Numbers of whole runs that only a load generator's own series show."""
    own = made.measures()
    return measures.rows(pl.DataFrame({"run": [run], **own})).to_dicts() if own else []


def _opening(evidence: Evidence, analysis: Analysis) -> Row:
    from l4strace.wording.verdict import counted, verdict

    opening = verdict(analysis, counted(evidence))
    return {
        "verdict": opening.sentence,
        "severity": opening.severity.name.lower() if opening.severity is not None else None,
        "rule": opening.finding.rule if opening.finding else None,
    }


def _of_flows(planned: Planned, flows: pl.DataFrame) -> list[Row]:
    rates = pl.DataFrame(
        {"run": [planned.name], "rate_bps": [rate_bps(planned.parameters)]},
        schema={"run": pl.String(), "rate_bps": pl.Float64()},
    )
    return measures.of_flows(flows, rates).to_dicts()


def judged(analysis: Analysis) -> str:
    """Codes of the rules that found something or had all inputs; others did not judge the run."""
    found = {one.rule for one in analysis.findings}
    lacking = {one.rule for one in analysis.skipped} - found
    return " ".join(rule.code for rule in analysis.rules if rule.code not in lacking)


def _of_evidence(
    run: str, evidence: Evidence, analysis: Analysis, flows: pl.DataFrame
) -> list[Row]:
    """Numbers of events: 0 where there was none, null where it could not be seen."""
    spikes = evidence.spikes
    lengths = (spikes["end_ns"] - spikes["start_ns"]) / 1e9
    severe = [one for one in analysis.findings if one.severity >= Severity.WARNING]
    misfires = {(one.flow, one.forward) for one in severe if one.rule == MISFIRE}
    # A receiver sees no queue, hence no spike of it.
    seen = flows["queue_delay_us"].count() > 0
    values: dict[str, Any] = {
        "spike_height": (spikes["height_us"].max() or 0.0) if seen else None,
        "spike_length": (lengths.max() or 0.0) if seen else None,
        "spikes": spikes.height if seen else None,
        "misfires": len(misfires) if MISFIRE in judged(analysis).split() else None,
        "findings": len(severe),
    }
    return measures.rows(pl.DataFrame({"run": run, **values})).to_dicts()


def _of_findings(run: str, findings: Sequence[Finding]) -> list[Row]:
    return [
        {
            "run": run,
            "number": number,
            "name": one.name,
            "value": None if isinstance(one.value, str) else float(one.value),
            "text": one.value if isinstance(one.value, str) else None,
            "unit": one.unit,
            "expected": one.expected or None,
        }
        for number, finding in enumerate(findings)
        for one in finding.measures
    ]


def _finding(run: str, number: int, finding: Finding) -> Row:
    start, end = finding.span_ns or (None, None)
    return {
        "run": run,
        "number": number,
        "rule": finding.rule,
        "severity": finding.severity.name.lower(),
        "confidence": finding.confidence.name.lower(),
        "message": finding.message,
        "flow": finding.flow,
        "forward": finding.forward,
        "start_ns": start,
        "end_ns": end,
    }


def _write_page(page: Page, evidence: Evidence, analysis: Analysis) -> None:
    from l4strace.page import encoded

    results, path = page
    Store(results).write(path, encoded(evidence, analysis))
