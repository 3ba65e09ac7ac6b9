"""classic_ecn at each reduction, as a histogram over its zones."""

from __future__ import annotations

import polars as pl

from l4strace.page.direction import Direction
from l4strace.page.drawing.figure import Figure, Trace
from l4strace.page.drawing.layout import chart
from l4strace.page.drawing.palette import CE, ECT1, SECOND
from l4strace.page.figures.classic_ecn import CLASSIC, SCALABLE, STICKY
from l4strace.wording.quantities import count

NAME = "score-histogram"
TITLE = "Fallback score at each reduction"

ZONES = (
    (0, SCALABLE, "scalable", ECT1),
    (SCALABLE, CLASSIC, "transition", SECOND),
    (CLASSIC, STICKY, "classic", CE),
)


def draw(direction: Direction) -> Figure | None:
    """One bar per unit of the score."""
    scores = _scores(direction)
    if not scores.len():
        return None
    bins = scores.cast(pl.Int64).clip(0, STICKY - 1).value_counts().sort("classic_ecn")
    bars: list[Trace] = []
    for low, high, name, stroke in ZONES:
        own = bins.filter(pl.col("classic_ecn").is_between(low, high, closed="left"))
        bars.append(
            {
                "type": "bar",
                "x": [value + 0.5 for value in own["classic_ecn"].to_list()],
                "y": own["count"].to_list(),
                "width": 0.94,
                "name": name,
                "marker": {"color": stroke.light},
            }
        )
    x = {"range": [0, STICKY], "tickvals": [0, SCALABLE, CLASSIC, STICKY]}
    return chart(bars, "score", "reductions", x=x)


def describe(direction: Direction) -> str:
    """The chart in words."""
    scores = _scores(direction)
    classic = int((scores > CLASSIC).sum())
    between = int(((scores > SCALABLE) & (scores <= CLASSIC)).sum())
    return (
        f"{count(scores.len(), 'reduction')}: {scores.len() - classic - between:,} scalable, "
        f"{between:,} in transition, {classic:,} classic."
    )


def _scores(direction: Direction) -> pl.Series:
    return direction.cuts["classic_ecn"].drop_nulls()
