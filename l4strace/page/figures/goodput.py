"""Newly acknowledged payload per second, round by round."""

from __future__ import annotations

from l4strace.page.direction import Direction
from l4strace.page.drawing.figure import Figure
from l4strace.page.drawing.layout import timeline
from l4strace.page.drawing.palette import LOSS, MEASURED
from l4strace.page.drawing.series import dots, line, points_of
from l4strace.wording.amounts import NONE, bit_rate, data_size
from l4strace.wording.quantities import count

NAME = "goodput"
TITLE = "Goodput and retransmissions"

MBIT = 1e-6


def draw(direction: Direction) -> Figure | None:
    """Goodput as a line; rounds with retransmissions as dots on it."""
    rounds, points = direction.rounds, direction.points
    data = points_of(rounds, "goodput_bps", points, MBIT)
    if not data:
        return None
    traces = [line(data, "goodput", MEASURED)]
    lossy = points_of(rounds.filter(rounds["retransmits"] > 0), "goodput_bps", points, MBIT)
    if lossy:
        traces.append(dots(lossy, "round with retransmissions", LOSS, "triangle-down"))
    return timeline(traces, "Mbit/s", direction.axis)


def describe(direction: Direction) -> str:
    """The chart in words."""
    totals = direction.totals
    seconds = (totals["last_ns"] - totals["first_ns"]) / 1e9
    rate = bit_rate(8 * totals["acked_bytes"] / seconds) if seconds > 0 else NONE
    retransmits = count(totals["retransmits"], "retransmission")
    return f"Mean {rate} ({data_size(totals['acked_bytes'])} acknowledged); {retransmits}."
