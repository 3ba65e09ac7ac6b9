"""Newly acknowledged payload per second, over intervals of some round trips."""

from __future__ import annotations

from l4strace.page.direction import Direction
from l4strace.page.drawing.figure import Figure
from l4strace.page.drawing.layout import timeline
from l4strace.page.drawing.palette import LOSS, MEASURED
from l4strace.page.drawing.series import MBIT, dots, line, points
from l4strace.page.drawing.smooth import per_interval
from l4strace.wording.amounts import NONE, bit_rate, data_size, duration
from l4strace.wording.quantities import count

NAME = "goodput"
TITLE = "Goodput and losses"
SENT = "Sending rate"
"""Title where nothing reports what arrived."""


def draw(direction: Direction) -> Figure | None:
    """Goodput as a line; intervals with retransmissions as dots on it."""
    if not direction.rounds["goodput_bps"].count():
        return None
    rates = per_interval(direction.rounds, direction.interval)
    most = direction.points
    sent = direction.counted == "sent"
    curve = points(rates.x, rates.goodput_bps, most, MBIT)
    traces = [line(curve, "sent" if sent else "goodput", MEASURED)]
    lossy = [(x, bps) for x, bps, again in zip(*rates, strict=True) if again]
    if lossy:
        xs, ys = zip(*lossy, strict=True)
        data = points(xs, ys, most, MBIT)
        name = "with losses" if direction.over_udp else "with retransmissions"
        traces.append(dots(data, name, LOSS, "triangle-down"))
    figure = timeline(traces, "Mbit/s", direction.axis)
    return figure._replace(title=SENT) if sent else figure


def describe(direction: Direction) -> str:
    """The chart in words."""
    every = duration(direction.interval * 1e6)
    counted = f"{data_size(direction.delivered_bytes)} {direction.counted}"
    return f"Over intervals of {every}. Mean {mean(direction)} ({counted}){_losses(direction)}."


def mean(direction: Direction) -> str:
    """Goodput from the direction's first packet to its last."""
    totals = direction.totals
    seconds = (totals["last_ns"] - totals["first_ns"]) / 1e9
    return bit_rate(8 * direction.delivered_bytes / seconds) if seconds > 0 else NONE


def _losses(direction: Direction) -> str:
    """`; 3 retransmissions`; of UDP the packets that the receiver reported as lost."""
    if not direction.over_udp:
        return f"; {count(direction.totals['retransmits'], 'retransmission')}"
    if direction.counted == "sent":
        return ""
    return f"; {count(int(direction.rounds['retransmits'].sum()), 'packet')} reported as lost"
