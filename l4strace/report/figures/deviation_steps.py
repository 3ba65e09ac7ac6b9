"""RTT mean deviation that went into each detector step, against its reference of 750 us."""

from __future__ import annotations

import plotly.graph_objects as go

from l4strace.report.direction import Direction
from l4strace.report.layout import reference, timeline
from l4strace.report.palette import MEASURED
from l4strace.report.series import dots, prepare
from l4strace.report.steps import told

NAME = "deviation-steps"
TITLE = "RTT mean deviation at each detector step"

REFERENCE_US = 750
"""V0 of tcp_prague.c: ``reference queue V of ~750us``."""


def draw(direction: Direction) -> go.Figure | None:
    """One dot per step."""
    data = prepare(direction.detector, "mdev_us", direction.points)
    if not data.height:
        return None
    figure = timeline([dots(data, "mdev_pace", MEASURED)], "µs", direction.axis)
    reference(figure, REFERENCE_US, "750 µs: above is classic")
    return figure


def describe(direction: Direction) -> str:
    """The chart in words."""
    return told(direction.detector["mdev_us"], REFERENCE_US)
