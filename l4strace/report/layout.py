"""What every chart's layout has in common: margins, axes, references, no decoration."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from l4strace.report.axis import TimeAxis
from l4strace.report.palette import REFERENCE

HEIGHT = 172
"""Pixels: five timelines fit one screen."""
GRID = "#e3e6ea"
TEXT = "#3b4350"
"""Grid and text of the light theme; the page sets both from its style sheet."""


def timeline(
    traces: list[go.Scatter], y_title: str, axis: TimeAxis, *, height: int = HEIGHT, **y: Any
) -> go.Figure:
    """A chart over the run's time axis."""
    x = {"range": [0, max(axis.length, 1e-3)], "hoverformat": ".3f", "ticksuffix": " s"}
    extra = {"hovermode": "x", "meta": {"timeline": True}}
    layout = _layout(traces, "", y_title, height, x, y) | extra
    layout["margin"]["b"] = 24
    return _figure(traces, layout)


def chart(
    traces: list[Any], x_title: str, y_title: str, *, height: int = HEIGHT, **y: Any
) -> go.Figure:
    """A chart whose zoom and hover work alike everywhere."""
    return _figure(traces, _layout(traces, x_title, y_title, height, {}, y))


def _figure(traces: list[Any], layout: dict[str, Any]) -> go.Figure:
    # Our own literals need no validation, which costs several times what the rest of a chart does.
    return go.Figure(data=traces, layout=layout, _validate=False)


def _layout(
    traces: list[Any],
    x_title: str,
    y_title: str,
    height: int,
    x: dict[str, Any],
    y: dict[str, Any],
) -> dict[str, Any]:
    ticks = {"gridcolor": GRID, "zeroline": False, "linecolor": GRID, "ticks": ""}
    return {
        "template": "none",
        "height": height,
        "margin": {"l": 62, "r": 14, "t": 26, "b": 38},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"size": 12, "color": TEXT, "family": "system-ui, sans-serif"},
        "showlegend": sum(trace.showlegend is not False for trace in traces) > 1,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "dragmode": "zoom",
        "xaxis": {"title": {"text": x_title, "standoff": 4}, **ticks, **x},
        "yaxis": {
            "title": {"text": y_title, "standoff": 6},
            "rangemode": "tozero",
            "fixedrange": False,
            **ticks,
            **y,
        },
    }


def reference(figure: go.Figure, value: float, text: str) -> None:
    """A horizontal threshold with its name at the right edge."""
    figure.add_shape(
        type="line",
        xref="paper",
        x0=0,
        x1=1,
        y0=value,
        y1=value,
        layer="above",
        line={"color": REFERENCE.light, "dash": REFERENCE.dash, "width": 1.2},
    )
    figure.add_annotation(
        xref="paper",
        x=1,
        y=value,
        xanchor="right",
        yanchor="bottom",
        text=text,
        showarrow=False,
        font={"size": 11, "color": REFERENCE.light},
    )
