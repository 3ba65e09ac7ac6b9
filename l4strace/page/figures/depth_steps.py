"""Queue delay that went into each detector step, against its reference of 2 ms."""

from __future__ import annotations

from l4strace.page.direction import Direction
from l4strace.page.drawing.figure import Figure
from l4strace.page.figures.steps import described, drawn
from l4strace.prague.constants import DEPTH_REFERENCE_US

NAME = "depth-steps"
TITLE = "Queue delay at each detector step"

REFERENCE_US = int(DEPTH_REFERENCE_US)


def draw(direction: Direction) -> Figure | None:
    """One dot per step."""
    return drawn(direction, "depth_us", "srtt_pace over min_rtt", REFERENCE_US)


def describe(direction: Direction) -> str:
    """The chart in words."""
    return described(direction.detector["depth_us"], REFERENCE_US)
