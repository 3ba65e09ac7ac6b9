"""Alpha, the sender's moving average of the marked share."""

from __future__ import annotations

import polars as pl

from l4strace.page.direction import Direction
from l4strace.page.drawing.figure import Figure
from l4strace.page.drawing.layout import timeline
from l4strace.page.drawing.palette import REPLAYED
from l4strace.page.drawing.series import band, line, points_of, recorded
from l4strace.wording.amounts import number

NAME = "alpha"
TITLE = "Alpha"


def draw(direction: Direction) -> Figure | None:
    """Alpha replayed from the packets' CE feedback, over the kernel's."""
    known = points_of(direction.kernel, "alpha", direction.points)
    rounds = _replayed(direction)
    replayed = points_of(rounds, "alpha", direction.points)
    traces = [recorded(known, "kernel")] if known else []
    if replayed:
        bounds = "bounds of the CE count and of the start"
        traces += band(rounds, "alpha_lo", "alpha_hi", bounds, REPLAYED, direction.points, 1.0)
        traces.append(line(replayed, "replayed from packets", REPLAYED))
    return timeline(traces, "share", direction.axis) if traces else None


def describe(direction: Direction) -> str:
    """The chart in words."""
    facts = []
    for name, frame in (
        ("kernel", direction.kernel),
        ("replayed from packets", _replayed(direction)),
    ):
        late = pl.col("alpha").filter(pl.col("x") >= direction.axis.length / 2)
        if (mean := frame.select(late.mean()).item()) is not None:
            facts.append(f"{name} {number(mean)}")
    parts = ["Alpha 1: every packet was marked. A reduction gives up alpha/2 of the window."]
    if _replayed(direction).height:
        parts.append(
            "Where packets do not show whether alpha starts at 0 or 1, the bounds cover both."
        )
    if facts:
        parts.append(f"Mean over the second half of the run: {', '.join(facts)}.")
    return " ".join(parts)


def _replayed(direction: Direction) -> pl.DataFrame:
    """Rounds of a sender that requests L4S."""
    return direction.rounds if direction.scalable else direction.rounds.clear()
