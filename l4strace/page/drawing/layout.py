"""What every chart's layout has in common: margins, axes, references, no decoration."""

from __future__ import annotations

from typing import Any

from l4strace.page.drawing.figure import Figure, Trace
from l4strace.page.drawing.palette import REFERENCE
from l4strace.wording.moments import TimeAxis

HEIGHT = 172
"""Pixels: five timelines fit one screen."""
GRID = "#e3e6ea"
TEXT = "#3b4350"
"""Grid and text of the light theme; the page sets both from its style sheet."""


def timeline(
    traces: list[Trace], y_title: str, axis: TimeAxis, *, height: int = HEIGHT, **y: Any
) -> Figure:
    """A chart over the run's time axis."""
    x = {"range": [0, max(axis.length, 1e-3)], "hoverformat": ".3f", "ticksuffix": " s"}
    layout = _layout(traces, "", y_title, x, y) | {"hovermode": "x", "meta": {"timeline": True}}
    layout["margin"]["b"] = 24
    return Figure(traces, layout, height)


def chart(
    traces: list[Trace], x_title: str, y_title: str, *, x: dict[str, Any] | None = None
) -> Figure:
    """A chart over something else than time."""
    return Figure(traces, _layout(traces, x_title, y_title, x or {}, {}), HEIGHT)


def _layout(
    traces: list[Trace], x_title: str, y_title: str, x: dict[str, Any], y: dict[str, Any]
) -> dict[str, Any]:
    ticks = {"gridcolor": GRID, "zeroline": False, "linecolor": GRID, "ticks": ""}
    return {
        "margin": {"l": 62, "r": 14, "t": 26, "b": 38},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"size": 12, "color": TEXT, "family": "system-ui, sans-serif"},
        "showlegend": sum(trace.get("showlegend", True) for trace in traces) > 1,
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


def reference(figure: Figure, value: float, text: str) -> None:
    """A horizontal threshold with its name at the right edge."""
    edge = {"color": REFERENCE.light, "dash": REFERENCE.dash, "width": 1.2}
    figure.shape(type="line", y0=value, y1=value, layer="above", line=edge)
    figure.note(
        x=1,
        y=value,
        xanchor="right",
        yanchor="bottom",
        text=text,
        font={"size": 11, "color": REFERENCE.light},
    )
