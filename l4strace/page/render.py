"""Evidence and analysis to one HTML page that keeps its size budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from l4strace.model import Analysis
from l4strace.page import fill
from l4strace.page.build import Report, build
from l4strace.page.case import Case
from l4strace.page.drawing.thin import MAX_POINTS
from l4strace.resources import timed

if TYPE_CHECKING:
    from l4strace.evidence import Evidence

MAX_BYTES = 3_000_000
"""Largest page: what trackers and mail gateways take without complaint."""
DATA_BYTES = 480_000
"""Bytes of the page that figures may take besides plotly's script."""
POINT_BYTES = 16
"""One point as base64: double x, single y."""
MIN_POINTS = 250
USUAL_SERIES = 19
"""Series that the charts of one direction have, for the first guess at their points."""


def render(
    evidence: Evidence, analysis: Analysis, *, command: str = "", stamp: str | None = None
) -> str:
    """The page as text: see `encoded`."""
    return encoded(evidence, analysis, command=command, stamp=stamp).decode()


def encoded(
    evidence: Evidence, analysis: Analysis, *, command: str = "", stamp: str | None = None
) -> bytes:
    """The page in UTF-8. The same input gives the same bytes, so ``stamp`` (a time) only when asked
    for.

    Series are thinned until the page holds its budget of 3 MB; full tables are for `export`.
    """
    case = Case(evidence, analysis, command, stamp)
    points = _guess(case)
    while True:
        with timed("build"):
            report = build(case.drawn_with(points))
        if points > MIN_POINTS and (fewer := _fewer(report, points)) < points:
            points = fewer
            continue
        with timed("fill"):
            html = fill.encoded(report)
        if len(html) <= MAX_BYTES or points <= MIN_POINTS:
            return html
        points = max(points // 2, MIN_POINTS)


def _guess(case: Case) -> int:
    """Points per series that will hold the budget, so that little is drawn twice."""
    room = DATA_BYTES // (POINT_BYTES * USUAL_SERIES)
    heights = sorted(direction.rounds.height for direction in case.charted)
    for others, height in zip(range(len(heights), 0, -1), heights, strict=True):
        if height > room // others:
            return min(max(room // others, MIN_POINTS), MAX_POINTS)
        room -= height
    return MAX_POINTS


def _fewer(report: Report, points: int) -> int:
    """Points per series with which the figures of ``report`` hold their budget."""
    traces = [trace for chart in report.charts for trace in chart.spec["data"]]
    if sum(_packed_bytes(trace) for trace in traces) <= DATA_BYTES:
        return points
    # Half as much again, because most series are shorter than the bound.
    even = DATA_BYTES * 3 // (2 * POINT_BYTES * len(traces))
    return max(min(even, points * 2 // 3), MIN_POINTS)


def _packed_bytes(trace: dict[str, Any]) -> int:
    return sum(len(trace[axis]["bdata"]) for axis in ("x", "y") if isinstance(trace[axis], dict))
