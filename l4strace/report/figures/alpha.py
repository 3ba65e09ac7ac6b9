"""Alpha, the sender's moving average of the marked share."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl

from l4strace.report.direction import Direction
from l4strace.report.layout import timeline
from l4strace.report.names import number
from l4strace.report.palette import RECORDED, REPLAYED
from l4strace.report.series import line, prepare

NAME = "alpha"
TITLE = "Alpha"


def draw(direction: Direction) -> go.Figure | None:
    """The kernel's alpha over the one replayed from the packets' CE feedback."""
    recorded, replayed = direction.kernel["alpha"].count(), direction.rounds["alpha_25ms"].count()
    if not recorded and not (replayed and direction.scalable):
        return None
    traces = []
    if replayed:
        data = prepare(direction.rounds, "alpha_25ms", direction.points)
        traces.append(line(data, "replayed from packets", REPLAYED))
    if recorded:
        data = prepare(direction.kernel, "alpha", direction.points)
        traces.append(line(data, "kernel", RECORDED))
    return timeline(traces, "share", direction.axis)


def describe(direction: Direction) -> str:
    """The chart in words."""
    said = []
    for name, frame, column in (
        ("kernel", direction.kernel, "alpha"),
        ("replayed from packets", direction.rounds, "alpha_25ms"),
    ):
        late = frame.filter(pl.col("x") >= direction.axis.length / 2)[column].drop_nulls()
        if late.len():
            said.append(f"{name} {number(late.mean())}")  # type: ignore[arg-type]
    means = f" Mean over the second half of the run: {', '.join(said)}." if said else ""
    return f"1 means that every packet was marked; a reduction gives up alpha/2.{means}"
