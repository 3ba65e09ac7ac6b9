"""Congestion window: recorded by kernel or sender, estimated from packets; what was in flight."""

from __future__ import annotations

from l4strace.page.direction import Direction
from l4strace.page.drawing.figure import Figure
from l4strace.page.drawing.layout import timeline
from l4strace.page.drawing.palette import MEASURED, SECOND
from l4strace.page.drawing.series import dots, line, points_of, recorded
from l4strace.wording.amounts import number, share

NAME = "window"
TITLE = "Window and packets in flight"


def draw(direction: Direction) -> Figure | None:
    """Most in flight per round and the estimate, over the recorded window."""
    rounds, kernel, points = direction.rounds, direction.kernel, direction.points
    traces = []
    if kernel["snd_cwnd"].count():
        window = points_of(kernel, "snd_cwnd", points)
        traces.append(recorded(window, f"{_recorded(direction)}, {direction.recorder}"))
    if rounds["inflight_max_packets"].count():
        data = points_of(rounds, "inflight_max_packets", points)
        traces.append(line(data, "in flight (most of the round)", SECOND))
    if rounds["cwnd_packets"].count():
        # Between the rounds that show it nothing is known.
        traces.append(
            dots(points_of(rounds, "cwnd_packets", points), "cwnd, from packets", MEASURED)
        )
    return timeline(traces, "packets", direction.axis) if traces else None


def describe(direction: Direction) -> str:
    """The chart in words."""
    shown = direction.rounds["cwnd_packets"]
    medians = [
        (name, values.drop_nulls().median())
        for name, values in (
            ("in flight", direction.rounds["inflight_max_packets"]),
            (f"{direction.recorder} {_recorded(direction)}", direction.kernel["snd_cwnd"]),
        )
    ]
    facts = [f"{name} {number(value)}" for name, value in medians if isinstance(value, int | float)]
    words = [f"Medians in packets: {', '.join(facts)}."] if facts else []
    if len(shown):
        words.append(f"Packets show cwnd in {share(shown.count(), len(shown))} of the rounds.")
    return " ".join(words)


def _recorded(direction: Direction) -> str:
    return "window" if direction.over_udp else "snd_cwnd"
