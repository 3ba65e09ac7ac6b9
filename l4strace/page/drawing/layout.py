"""What every chart's layout has in common: margins, axes, references, no decoration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from l4strace.page.drawing.figure import Figure, Trace
from l4strace.page.drawing.palette import REFERENCE, Stroke, faint
from l4strace.page.drawing.scale import scale
from l4strace.wording.moments import TimeAxis

HEIGHT = 172
"""Pixels: five timelines fit one screen."""
COMPARING = 230
"""Pixels of a chart that compares flows, or stands alone."""
HOVER_FORMAT = ",.5~r"
"""Format of d3: at most five significant digits, with thousands separated."""
MOST_LABELS = 8
"""Labels of a logarithmic axis that fit a phone; of more only those of powers of ten are kept."""
SHADE_ROW = 11
"""Pixels from the name of one shaded stretch down to the next."""
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
    traces: list[Trace],
    x_title: str,
    y_title: str,
    *,
    x: dict[str, Any] | None = None,
    y: dict[str, Any] | None = None,
    height: int = HEIGHT,
) -> Figure:
    """A chart over something else than time; the mouse shows both values."""
    for trace in traces:
        trace["hovertemplate"] = f"%{{x:{HOVER_FORMAT}}} {x_title}, %{{y:{HOVER_FORMAT}}} {y_title}"
    return Figure(traces, _layout(traces, x_title, y_title, x or {}, y or {}), height)


def _layout(
    traces: list[Trace], x_title: str, y_title: str, x: dict[str, Any], y: dict[str, Any]
) -> dict[str, Any]:
    for trace in traces:
        if trace.get("hoverinfo") != "skip":
            trace.setdefault("hovertemplate", f"%{{y:{HOVER_FORMAT}}} {y_title}")
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


def logarithmic(values: Iterable[float]) -> dict[str, Any]:
    """A logarithmic axis whose every label is a whole number of its own, not a bare 2 or 5."""
    ticks = scale(values, {"type": "log"}).ticks
    few = len(ticks) <= MOST_LABELS
    texts = [text if few or text.strip("0.,") == "1" else "" for _, text in ticks]
    return {"type": "log", "tickvals": [value for value, _ in ticks], "ticktext": texts}


def shade(
    layout: dict[str, Any], span: tuple[float, float], name: str, stroke: Stroke, row: int = 0
) -> None:
    """A stretch of a timeline (seconds) in a faint colour, with its name in a row at the top."""
    start, end = span
    edge = {"color": faint(stroke, 0.5), "width": 1}
    area = {"type": "rect", "xref": "x", "x0": start, "x1": end, "yref": "paper", "y0": 0, "y1": 1}
    fill = {"fillcolor": faint(stroke, 0.06), "line": edge, "layer": "below"}
    layout.setdefault("shapes", []).append(area | fill)
    place = {"xref": "x", "x": start, "yref": "paper", "y": 1, "xanchor": "left", "yanchor": "top"}
    place["yshift"] = -SHADE_ROW * row
    text = {"text": name, "showarrow": False, "font": {"size": 10, "color": stroke.light}}
    layout.setdefault("annotations", []).append(place | text)


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
