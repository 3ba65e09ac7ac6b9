"""Queue depth that went into each detector step, against its reference of 2000 us."""

from __future__ import annotations

import plotly.graph_objects as go

from l4strace.report.direction import Direction
from l4strace.report.layout import reference, timeline
from l4strace.report.palette import MEASURED
from l4strace.report.series import dots, prepare
from l4strace.report.steps import told

NAME = "depth-steps"
TITLE = "Queue depth at each detector step"

REFERENCE_US = 2000
"""D0 of tcp_prague.c: ``reference queue D of ~2ms``."""


def draw(direction: Direction) -> go.Figure | None:
    """One dot per step."""
    data = prepare(direction.detector, "depth_us", direction.points)
    if not data.height:
        return None
    figure = timeline([dots(data, "srtt_pace over min_rtt", MEASURED)], "µs", direction.axis)
    reference(figure, REFERENCE_US, "2000 µs: above is classic")
    return figure


def describe(direction: Direction) -> str:
    """The chart in words."""
    return told(direction.detector["depth_us"], REFERENCE_US)
