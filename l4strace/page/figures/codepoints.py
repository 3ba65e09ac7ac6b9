"""Data packets per round by the codepoint with which they passed the capture."""

from __future__ import annotations

from l4strace.page.direction import Direction
from l4strace.page.drawing.figure import Figure
from l4strace.page.drawing.layout import timeline
from l4strace.page.drawing.palette import CE, ECT0, ECT1, NOT_ECT
from l4strace.page.drawing.series import line, points_of
from l4strace.wording.amounts import share
from l4strace.wording.quantities import count
from l4strace.wording.vantages import PLACES, of_direction

NAME = "codepoints"
TITLE = "Codepoints per round"

CODEPOINTS = (
    ("ect1", "ECT(1)", ECT1),
    ("ect0", "ECT(0)", ECT0),
    ("not_ect", "Not-ECT", NOT_ECT),
    ("ce", "CE", CE),
)


def draw(direction: Direction) -> Figure | None:
    """One line per codepoint that occurs."""
    rounds = direction.rounds
    traces = [
        line(points_of(rounds, column, direction.points), name, stroke)
        for column, name, stroke in CODEPOINTS
        if (rounds[column].sum() or 0) > 0
    ]
    return timeline(traces, "packets", direction.axis) if traces else None


def describe(direction: Direction) -> str:
    """The chart in words."""
    total = direction.totals["data_packets"]
    counts = [(name, direction.totals["data_" + column]) for column, name, _ in CODEPOINTS]
    parts = [f"{name} {count:,} ({share(count, total)})" for name, count in counts if count]
    packets = count(total, "data packet")
    where = PLACES.get(of_direction(direction.row, direction.forward), "")
    return f"{packets} as they passed the capture {where}".rstrip() + f": {', '.join(parts)}."
