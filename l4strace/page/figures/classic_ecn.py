"""The fallback's score: recorded by the kernel, and replayed with correct and buggy references."""

from __future__ import annotations

import polars as pl

from l4strace.page.direction import Direction
from l4strace.page.drawing.figure import Figure, Trace
from l4strace.page.drawing.layout import HEIGHT, timeline
from l4strace.page.drawing.palette import BUGGY, CE, ECT1, REPLAYED, Stroke, faint
from l4strace.page.drawing.series import Points, band, line, points_of, recorded
from l4strace.prague.constants import CLASSIC_THRESHOLD, SCALABLE_THRESHOLD, SCORE_MAX
from l4strace.wording.amounts import number
from l4strace.wording.moments import TimeAxis, moment

NAME = "classic_ecn"
TITLE = "Fallback score (classic_ecn)"

SCALABLE, CLASSIC, STICKY = map(int, (SCALABLE_THRESHOLD, CLASSIC_THRESHOLD, SCORE_MAX))
"""Ends of the score's zones."""

CURVES = (
    ("classic_ecn_buggy", "score_buggy", "replayed, scaling bug", BUGGY),
    ("classic_ecn", "score_fixed", "replayed, 750 and 2000 µs", REPLAYED),
)
"""Columns of `rounds` and `detector`, and how they are drawn."""


def draw(direction: Direction) -> Figure | None:
    """Both replays over the recorded score, in the zones 0-8-9-17."""
    scores = points_of(_scores(direction), "classic_ecn", direction.points)
    if not scores and not direction.prague:
        return None
    traces = [recorded(scores, "kernel")] if scores else []
    for from_packets, from_kernel, name, stroke in CURVES:
        data = _replayed(direction, from_packets, from_kernel)
        if data and not _from_kernel(direction, from_kernel):
            traces += _bounds(direction, from_packets, name, stroke)
        if data:
            traces.append(line(data, name, stroke, width=1.8))
    return framed(traces, direction.axis) if traces else None


def framed(traces: list[Trace], axis: TimeAxis) -> Figure:
    """``traces`` of the score in its zones."""
    figure = timeline(
        traces,
        "score",
        axis,
        height=HEIGHT + 40,
        range=[-0.3, STICKY + 0.3],
        tickvals=[0, (SCALABLE + CLASSIC) / 2, STICKY],
        ticktext=["0", f"{SCALABLE}\N{EN DASH}{CLASSIC}", str(STICKY)],
    )
    for low, high, name, stroke in (
        (0, SCALABLE, "scalable", ECT1),
        (CLASSIC, STICKY, "classic", CE),
    ):
        _zone(figure, low, high, name, stroke)
    return figure


def describe(direction: Direction) -> str:
    """The chart in words."""
    parts = ["Below 8 Prague responds to a mark with alpha/2, above 9 with at least 31.25 %"]
    scores = _scores(direction)
    if scores.is_empty():
        parts.append("no score was recorded: this is what Prague's detector would compute")
    else:
        last = number(scores["classic_ecn"][-1])
        passed = _passed(direction, scores)
        parts.append(f"the kernel's score {passed} and ended at {last}")
    for from_packets, from_kernel, name, _ in CURVES:
        data = _replayed(direction, from_packets, from_kernel)
        if data:
            between = (
                "" if _from_kernel(direction, from_kernel) else _between(direction, from_packets)
            )
            parts.append(f"{name}: ended at {number(data.y[-1])}{between}")
    return "; ".join(parts) + "."


def _passed(direction: Direction, scores: pl.DataFrame) -> str:
    """When a step of the detector first was above 8, as findings state it; else a sample."""
    steps = direction.detector.drop_nulls("score").filter(pl.col("score") > SCALABLE)
    above = steps if steps.height else scores.filter(pl.col("classic_ecn") > SCALABLE)
    if above.is_empty():
        return "never passed 8"
    first_ns = above.select(pl.col("ts_ns").min()).item()
    return f"first passed 8 at {moment(direction.evidence, first_ns)}"


def _scores(direction: Direction) -> pl.DataFrame:
    return direction.kernel.drop_nulls("classic_ecn")


def _replayed(direction: Direction, from_packets: str, from_kernel: str) -> Points:
    """The replay from the kernel's own inputs where there are any, else from packets."""
    if _from_kernel(direction, from_kernel):
        return points_of(direction.detector, from_kernel, direction.points)
    return points_of(direction.rounds, from_packets, direction.points)


def _from_kernel(direction: Direction, column: str) -> bool:
    steps = direction.detector
    return bool(steps.height and steps[column].count())


def _bounds(direction: Direction, column: str, name: str, stroke: Stroke) -> list[Trace]:
    """What the packets leave open of a replay."""
    low, high = f"{column}_lo", f"{column}_hi"
    return band(direction.rounds, low, high, f"bounds of {name}", stroke, direction.points, 1.0)


def _between(direction: Direction, column: str) -> str:
    """How much of the rounds has bounds on both sides of 8."""
    low, high = (direction.rounds[f"{column}_{end}"].drop_nulls() for end in ("lo", "hi"))
    open_ = ((low <= SCALABLE) & (high > SCALABLE)).mean() if low.len() else None
    if not isinstance(open_, float) or not open_:
        return ""
    return f" (in {100 * open_:.0f} % of the rounds packets leave open on which side of 8 it is)"


def _zone(figure: Figure, low: float, high: float, name: str, stroke: Stroke) -> None:
    fill = faint(stroke, 0.07)
    figure.shape(type="rect", y0=low, y1=high, layer="below", line={"width": 0}, fillcolor=fill)
    figure.note(
        x=0.995,
        y=high,
        xanchor="right",
        yanchor="top",
        text=name,
        font={"size": 11, "color": stroke.light},
    )
