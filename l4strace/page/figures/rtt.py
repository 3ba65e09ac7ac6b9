"""Round-trip time per round."""

from __future__ import annotations

from l4strace.page.direction import Direction
from l4strace.page.drawing.figure import Figure
from l4strace.page.drawing.layout import timeline
from l4strace.page.drawing.palette import MEASURED
from l4strace.page.drawing.series import MS, band, line, points_of
from l4strace.wording.amounts import duration
from l4strace.wording.quantities import count

NAME = "rtt"
TITLE = "Round-trip time"

FEEDBACK = ("acknowledgement", "feedback")
"""What ends a round trip over TCP, and over UDP or both."""


def draw(direction: Direction) -> Figure | None:
    """Mean of each round in the range of its smallest and largest."""
    rounds, points = direction.rounds, direction.points
    if rounds["rtt_mean_us"].count() == 0:
        return None
    traces = band(rounds, "rtt_min_us", "rtt_max_us", "smallest to largest", MEASURED, points, MS)
    traces.append(line(points_of(rounds, "rtt_mean_us", points, MS), "mean of the round", MEASURED))
    # A path of 80 ms with a queue of 1 ms shows nothing on an axis that begins at 0.
    return timeline(traces, "ms", direction.axis, rangemode="normal")


def describe(direction: Direction) -> str:
    """The chart in words."""
    totals = direction.totals
    low, mean, high = (duration(totals[f"rtt_{word}_us"]) for word in ("min", "mean", "max"))
    samples = count(totals["rtt_samples"], "sample")
    until = FEEDBACK[direction.over_udp]
    return f"Smallest {low}, mean {mean}, largest {high} over {samples}, data to {until}."
