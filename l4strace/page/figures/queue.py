"""Queue delay per round: RTT above its smallest, and one-way delay between two captures."""

from __future__ import annotations

from l4strace.derive import timed
from l4strace.page.direction import Direction
from l4strace.page.drawing.figure import Figure
from l4strace.page.drawing.layout import timeline
from l4strace.page.drawing.palette import MEASURED, SECOND
from l4strace.page.drawing.series import MS, line, points_of
from l4strace.wording.amounts import duration, micro
from l4strace.wording.quantities import at_delay, marking_delay

NAME = "queue"
TITLE = "Queue delay"


def draw(direction: Direction) -> Figure | None:
    """Queue delay (mean RTT minus the path's smallest), and one-way delay minus its smallest."""
    rounds, points = direction.rounds, direction.points
    traces = []
    if rounds["queue_delay_us"].count():
        data = points_of(rounds, "queue_delay_us", points, MS)
        traces.append(line(data, "RTT above the smallest of the path", MEASURED))
    if rounds["owd_mean_us"].count():
        data = points_of(rounds, "owd_mean_us", points, MS)
        traces.append(line(data, "one way, between the captures", SECOND))
    return timeline(traces, "ms", direction.axis) if traces else None


def describe(direction: Direction) -> str:
    """The chart in words."""
    middle, high = direction.rounds.select(
        timed.median("queue_delay_us").alias("middle"),
        timed.quantile("queue_delay_us", 0.99).alias("high"),
    ).row(0)
    if middle is None:
        return "One-way delay above its smallest, between the two captures."
    text = (
        "RTT above the smallest of the path, mean of each round. Over time: "
        f"median {duration(middle)}, 99th percentile {duration(high)}"
    )
    found = direction.bottleneck or {}
    if found.get("marking_delay_us") is not None:
        text = f"{text}; marking starts {micro(at_delay(marking_delay(found)))}"
    jitter = direction.jitter_us
    return f"{text}. Jitter of {duration(jitter)} is part of it." if jitter else f"{text}."
