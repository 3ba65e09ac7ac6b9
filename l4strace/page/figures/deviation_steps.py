"""RTT deviation that went into each detector step, against its reference of 750 us."""

from __future__ import annotations

from l4strace.page.direction import Direction
from l4strace.page.drawing.figure import Figure
from l4strace.page.figures.steps import described, drawn
from l4strace.prague.constants import MDEV_REFERENCE_US

NAME = "deviation-steps"
TITLE = "RTT deviation at each detector step"

REFERENCE_US = int(MDEV_REFERENCE_US)


def draw(direction: Direction) -> Figure | None:
    """One dot per step."""
    return drawn(direction, "mdev_us", "mdev_pace", REFERENCE_US)


def describe(direction: Direction) -> str:
    """The chart in words."""
    return described(direction.detector["mdev_us"], REFERENCE_US)
