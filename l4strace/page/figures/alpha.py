"""Alpha, the sender's moving average of the marked share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from l4strace.page.direction import Direction
from l4strace.page.drawing.figure import Figure, Trace
from l4strace.page.drawing.layout import timeline
from l4strace.page.drawing.palette import REPLAYED
from l4strace.page.drawing.scale import HEADROOM
from l4strace.page.drawing.series import band, line, points_of, recorded
from l4strace.wording.amounts import number
from l4strace.wording.moments import TimeAxis

NAME = "alpha"
TITLE = "Alpha"

SETTLED = 0.1
"""Part of the run after which alpha has left its start: by eye, dozens of rounds."""


def draw(direction: Direction) -> Figure | None:
    """Alpha replayed from the packets' CE feedback, over the recorded one."""
    known = points_of(direction.kernel, "alpha", direction.points)
    rounds = _replayed(direction)
    replayed = points_of(rounds, "alpha", direction.points)
    traces = [recorded(known, direction.recorder)] if known else []
    if replayed:
        bounds = "bounds of the CE count and of the start"
        traces += band(rounds, "alpha_lo", "alpha_hi", bounds, REPLAYED, direction.points, 1.0)
        traces.append(line(replayed, "replayed from packets", REPLAYED))
    return framed(traces, direction.axis, _top(direction)) if traces else None


def framed(traces: list[Trace], axis: TimeAxis, top: float) -> Figure:
    """``traces`` of alpha on a scale that ends at ``top``."""
    y: dict[str, Any] = {"range": [0, top]} if top < 1 else {}
    return timeline(traces, "share of marks", axis, **y)


def _top(direction: Direction) -> float:
    tables = (direction.kernel, _replayed(direction))
    late = pl.col("alpha").filter(pl.col("x") >= direction.axis.length * SETTLED)
    return end_of_scale(table.select(late.max()).item() for table in tables)


def end_of_scale(highest: Iterable[float | None]) -> float:
    """Where the scale ends by the highest values of each curve after the start: alpha may start at
    1 and then stay at a few percent for the run."""
    return min(1.0, (1 + HEADROOM) * max((one for one in highest if one), default=1.0))


def describe(direction: Direction) -> str:
    """The chart in words."""
    facts = []
    for name, frame in (
        (direction.recorder, direction.kernel),
        ("replayed from packets", _replayed(direction)),
    ):
        late = pl.col("alpha").filter(pl.col("x") >= direction.axis.length / 2)
        if (mean := frame.select(late.mean()).item()) is not None:
            facts.append(f"{name} {number(mean)}")
    parts = ["Alpha 1: every packet was marked. A reduction gives up alpha/2 of the window."]
    if _replayed(direction).height and not direction.over_udp:
        parts.append(
            "Where packets do not show whether alpha starts at 0 or 1, the bounds cover both."
        )
    if (top := _top(direction)) < 1:
        parts.append(f"The scale ends at {number(top)}: higher values are from the start.")
    if facts:
        parts.append(f"Mean over the second half of the run: {', '.join(facts)}.")
    return " ".join(parts)


def _replayed(direction: Direction) -> pl.DataFrame:
    """Rounds of a sender that requests L4S."""
    return direction.rounds if direction.scalable else direction.rounds.clear()
