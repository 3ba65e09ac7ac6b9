"""Findings, their measures and skipped rules as polars frames, as `schema/analysis.py` has them."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from l4strace.evidence import Capture
from l4strace.model import Analysis, Measure
from l4strace.output.json import finding_value
from l4strace.schema.analysis import FINDINGS, MEASURES, SKIPPED
from l4strace.wording import measures as words


def of(table: str, capture: Capture, analysis: Analysis) -> pl.DataFrame:
    """The frame of findings, measures or skipped rules, by its name."""
    if table == "findings":
        return findings(capture, analysis)
    return measures(analysis) if table == "measures" else skipped(analysis)


def findings(capture: Capture, analysis: Analysis) -> pl.DataFrame:
    """One row per finding, worst first."""
    files = dict(capture.sources.select("source", "path").iter_rows())
    rows = [
        finding_value(finding)
        | {
            "finding": number,
            "file": files.get(finding.source),
            "start": finding.span_ns[0] if finding.span_ns else None,
            "end": finding.span_ns[1] if finding.span_ns else None,
            "measures": [words.line(measure) for measure in finding.measures],
        }
        for number, finding in enumerate(analysis.findings)
    ]
    given = FINDINGS.schema | {"start": pl.Int64(), "end": pl.Int64()}
    return FINDINGS.conform(pl.DataFrame(rows, given))


def measures(analysis: Analysis) -> pl.DataFrame:
    """One row per measure of a finding."""
    rows = [
        {
            "finding": number,
            "rule": finding.rule,
            "source": finding.source,
            "flow": finding.flow,
            "forward": finding.forward,
            "name": measure.name,
            **_value(measure),
            "unit": measure.unit,
            "expected": measure.expected,
        }
        for number, finding in enumerate(analysis.findings)
        for measure in finding.measures
    ]
    return pl.DataFrame(rows, MEASURES.schema)


def skipped(analysis: Analysis) -> pl.DataFrame:
    """One row per rule that could not judge."""
    rows = [(skipped.rule, skipped.reason, skipped.flow) for skipped in analysis.skipped]
    return pl.DataFrame(rows, SKIPPED.schema, orient="row")


def _value(measure: Measure) -> dict[str, Any]:
    if isinstance(measure.value, str):
        return {"value": None, "text": measure.value}
    number = float(measure.value)
    return {"value": number if math.isfinite(number) else None, "text": None}
