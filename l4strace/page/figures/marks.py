"""CE marks per round: as the receiver fed them back, and as they arrived there."""

from __future__ import annotations

import polars as pl

from l4strace.page.direction import Direction
from l4strace.page.drawing.figure import Figure, Trace
from l4strace.page.drawing.layout import timeline
from l4strace.page.drawing.palette import CE, SECOND
from l4strace.page.drawing.series import band, dots, line, points_of
from l4strace.wording.amounts import share
from l4strace.wording.quantities import count

NAME = "marks"
TITLE = "CE marks per round"


def draw(direction: Direction) -> Figure | None:
    """Fed back as a line with its bounds, arrived as dots, classic ECE as a second line."""
    rounds, points = direction.rounds, direction.points
    traces: list[Trace] = []
    if _any(rounds, "ce_hi"):
        traces += band(rounds, "ce_lo", "ce_hi", "bounds", CE, points, 1.0)
        traces.append(line(points_of(rounds, "ce_best", points), "CE fed back", CE, width=2))
    if _any(direction.far_rounds, "ce"):
        arrived = direction.far_rounds.filter(pl.col("ce") > 0)
        traces.append(dots(points_of(arrived, "ce", points), "CE arrived", CE, "x-thin-open"))
    if _any(rounds, "ece_acks"):
        traces.append(line(points_of(rounds, "ece_acks", points), "ACKs with ECE", SECOND))
    return timeline(traces, "packets", direction.axis) if traces else None


def describe(direction: Direction) -> str:
    """The chart in words."""
    totals = direction.totals
    best, low, high = (totals[f"ce_fed_back_{bound}"] for bound in ("best", "lo", "hi"))
    facts = []
    if best is not None:
        bounds = "exactly" if low == high else f"between {low:,} and {high:,}, most likely"
        why = f": {direction.bounds_why}" if direction.bounds_why else ""
        of = share(min(best, totals["data_segments"]), totals["data_segments"])
        facts.append(
            f"The receiver fed back {bounds} {count(best, 'CE mark')} ({of} of the data packets on "
            f"the wire){why}"
        )
    arrived = direction.arrived_ce
    if arrived is not None:
        facts.append(
            f"{count(arrived, 'data packet')} arrived with CE at the capture near the receiver"
        )
    if direction.ece_acks:
        facts.append(f"{count(direction.ece_acks, 'ACK')} carried ECE")
    return "; ".join(facts) + "." if facts else "The capture holds no feedback of CE."


def _any(rounds: pl.DataFrame, column: str) -> bool:
    return bool((rounds[column].sum() or 0) > 0)
