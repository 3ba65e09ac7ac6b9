"""A figure as SVG, drawn from its plain values: for papers, slides and tickets, without a browser.

Knows what figures of this package use of plotly's names and nothing else.
"""

from __future__ import annotations

import math
from array import array
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from l4strace.page.drawing.figure import Trace
from l4strace.page.drawing.layout import GRID, TEXT
from l4strace.page.drawing.scale import Scale, scale

WIDTH = 1000
"""Pixels: two columns of a paper, and readable on a slide."""
LEFT, RIGHT, BOTTOM = 70, 16, 44
TITLE, LEGEND_ROW = 30, 18
"""Heights of the title and of one row of the legend."""
LETTER = 6.6
"""Pixels of a letter of the legend, about: nothing measures a text here."""
SIGNATURE = "<!-- drawn by l4strace -->"
DASHES = {
    "dash": "9,9",
    "dot": "3,3",
    "dashdot": "9,3,3,3",
    "longdash": "15,6",
    "longdashdot": "15,6,3,6",
}
"""Dash patterns of plotly at about its usual line width."""


@dataclass(frozen=True)
class Frame:
    """The area of the curves: pixels of its edges, and the two axes."""

    top: float
    bottom: float
    x: Scale
    y: Scale

    def across(self, value: float) -> float:
        """Pixel of a value of x."""
        return LEFT + self.x.place(value) * (WIDTH - LEFT - RIGHT)

    def down(self, value: float) -> float:
        """Pixel of a value of y."""
        return self.bottom - self.y.place(value) * (self.bottom - self.top)


def svg(spec: dict[str, Any], title: str, height: int) -> str:
    """The figure ``spec`` (`data`, `layout`) under its title; ``height`` pixels without that."""
    traces, layout = spec["data"], spec["layout"]
    legend = list(_legend(traces)) if layout.get("showlegend") else []
    rows = 1 + max((row for row, *_ in legend), default=-1)
    top = TITLE + LEGEND_ROW * rows + 8
    frame = Frame(
        top,
        top + height - BOTTOM,
        scale([v for t in traces for v in values(t["x"])], layout["xaxis"]),
        scale([v for t in traces for v in _heights(t)], layout["yaxis"]),
    )
    whole = frame.bottom + BOTTOM
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{whole:g}" '
            f'viewBox="0 0 {WIDTH} {whole:g}" font-family="system-ui, sans-serif" font-size="12">',
            SIGNATURE,
            f"<title>{escape(title)}</title>",
            f'<rect width="{WIDTH}" height="{whole:g}" fill="#ffffff"/>',
            f'<clipPath id="area"><rect x="{LEFT}" y="{frame.top:g}" '
            f'width="{WIDTH - LEFT - RIGHT}" height="{frame.bottom - frame.top:g}"/></clipPath>',
            _words(LEFT - 54, 20, title, TEXT, size=14, weight="bold"),
            *_axes(frame, layout),
            '<g clip-path="url(#area)">',
            *(_shape(frame, shape) for shape in layout.get("shapes", ())),
            *_curves(frame, traces),
            "</g>",
            *(_note(frame, note) for note in layout.get("annotations", ())),
            *(_entry(*entry) for entry in legend),
            "</svg>\n",
        )
    )


def values(column: Any) -> list[float]:
    """A column of a trace as numbers, whether it is packed or a list."""
    if not isinstance(column, dict):
        return [float(value) for value in column]
    return list(array("d" if column["dtype"] == "f8" else "f", b64decode(column["bdata"])))


def _heights(trace: Trace) -> list[float]:
    return [*values(trace["y"]), *([0.0] if trace["type"] == "bar" else [])]


def _axes(frame: Frame, layout: dict[str, Any]) -> Iterator[str]:
    for value, text in frame.x.ticks:
        at = frame.across(value)
        yield _line(at, frame.top, at, frame.bottom, GRID)
        yield _words(at, frame.bottom + 16, text, TEXT, anchor="middle")
    for value, text in frame.y.ticks:
        at = frame.down(value)
        yield _line(LEFT, at, WIDTH - RIGHT, at, GRID)
        yield _words(LEFT - 6, at + 4, text, TEXT, anchor="end")
    middle = (frame.top + frame.bottom) / 2
    y_title = layout["yaxis"]["title"]["text"]
    yield _words(14, middle, y_title, TEXT, anchor="middle", turn=f"rotate(-90 14 {middle:g})")
    x_title = layout["xaxis"]["title"]["text"]
    yield _words((LEFT + WIDTH - RIGHT) / 2, frame.bottom + 36, x_title, TEXT, anchor="middle")


def _curves(frame: Frame, traces: list[Trace]) -> Iterator[str]:
    below: list[tuple[float, float]] = []
    for trace in traces:
        points = list(zip(values(trace["x"]), values(trace["y"]), strict=True))
        if trace["type"] == "bar":
            yield from _bars(frame, trace, points)
        elif "fill" in trace:
            area = _path(frame, points + below[::-1])
            yield f'<path d="{area}" {_paint("fill", trace["fillcolor"])} stroke="none"/>'
        elif trace["mode"] == "markers":
            marker = trace["marker"]
            yield from (_mark(frame, x, y, marker) for x, y in points if math.isfinite(y))
        elif trace["line"]["width"]:
            yield _curve(frame, trace, points)
        below = points


def _curve(frame: Frame, trace: Trace, points: list[tuple[float, float]]) -> str:
    opacity = trace.get("opacity", 1)
    path = _path(frame, points)
    return f'<path d="{path}" fill="none" {_pen(trace["line"])} opacity="{opacity}"/>'


def _path(frame: Frame, points: list[tuple[float, float]]) -> str:
    """Lines through the points; NaN lifts the pen."""
    parts = []
    pen = "M"
    for x, y in points:
        if not math.isfinite(y):
            pen = "M"
            continue
        parts.append(f"{pen}{frame.across(x):.1f} {frame.down(y):.1f}")
        pen = "L"
    return "".join(parts)


def _bars(frame: Frame, trace: Trace, points: list[tuple[float, float]]) -> Iterator[str]:
    half = trace["width"] / 2
    for x, y in points:
        left, right = frame.across(x - half), frame.across(x + half)
        top, bottom = frame.down(y), frame.down(0)
        colour = _paint("fill", trace["marker"]["color"])
        size = f'width="{right - left:.1f}" height="{bottom - top:.1f}"'
        yield f'<rect x="{left:.1f}" y="{top:.1f}" {size} {colour}/>'


MARKS = {
    "circle": "m-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0",
    "square": "m-2.5 -2.5h5v5h-5z",
    "diamond": "m0 -3.3l3.3 3.3l-3.3 3.3l-3.3 -3.3z",
    "triangle-down": "m-3 -2h6l-3 5z",
    "x-thin-open": "m-2.5 -2.5l5 5m0 -5l-5 5",
}


def _mark(frame: Frame, x: float, y: float, marker: dict[str, Any]) -> str:
    shape = MARKS[marker["symbol"]]
    kind = "stroke" if marker["symbol"].endswith("open") else "fill"
    colour = _paint(kind, marker["color"])
    return f'<path d="M{frame.across(x):.1f} {frame.down(y):.1f}{shape}" {colour}/>'


def _shape(frame: Frame, shape: dict[str, Any]) -> str:
    x0, x1 = (_at_x(frame, shape, shape[end]) for end in ("x0", "x1"))
    y0, y1 = (_at_y(frame, shape, shape[end]) for end in ("y0", "y1"))
    if shape["type"] == "line":
        return f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" {_pen(shape["line"])}/>'
    size = f'width="{x1 - x0:.1f}" height="{abs(y1 - y0):.1f}"'
    edge = _pen(shape["line"]) if shape["line"]["width"] else ""
    colour = _paint("fill", shape["fillcolor"])
    return f'<rect x="{x0:.1f}" y="{min(y0, y1):.1f}" {size} {colour} {edge}/>'


def _note(frame: Frame, note: dict[str, Any]) -> str:
    anchor = {"left": "start", "right": "end"}[note["xanchor"]]
    lower = 10 if note["yanchor"] == "top" else -3
    x, y = _at_x(frame, note, note["x"]), _at_y(frame, note, note["y"])
    font = note["font"]
    down = y + lower - note.get("yshift", 0)
    return _words(x, down, note["text"], font["color"], size=font["size"], anchor=anchor)


def _at_x(frame: Frame, item: dict[str, Any], value: float) -> float:
    return LEFT + value * (WIDTH - LEFT - RIGHT) if item["xref"] == "paper" else frame.across(value)


def _at_y(frame: Frame, item: dict[str, Any], value: float) -> float:
    if item.get("yref") == "paper":
        return frame.bottom - value * (frame.bottom - frame.top)
    return frame.down(value)


def _legend(traces: list[Trace]) -> Iterator[tuple[int, float, Trace]]:
    """Row, place and trace of each entry, as many in a row as fit."""
    row, at = 0, float(LEFT)
    for trace in traces:
        if not trace.get("showlegend", True):
            continue
        width = 40 + LETTER * len(trace["name"])
        if at + width > WIDTH - RIGHT and at > LEFT:
            row, at = row + 1, float(LEFT)
        yield row, at, trace
        at += width


def _entry(row: int, at: float, trace: Trace) -> str:
    y = TITLE + LEGEND_ROW * row + 12
    colour = trace.get("fillcolor") or (trace.get("marker") or trace["line"])["color"]
    pen = trace["line"] if "line" in trace and trace["line"]["width"] else {"width": 6}
    sample = f'<path d="M{at:g} {y - 4}h24" {_pen(pen | {"color": colour})}/>'
    return sample + _words(at + 30, y, trace["name"], TEXT)


def _line(x0: float, y0: float, x1: float, y1: float, colour: str) -> str:
    return f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" {_paint("stroke", colour)}/>'


def _pen(line: dict[str, Any]) -> str:
    dash = DASHES.get(line.get("dash", "solid"))
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'{_paint("stroke", line["color"])} stroke-width="{line["width"]:g}"{dashes}'


def _paint(kind: str, colour: str) -> str:
    """A colour as an attribute; eight digits hold an opacity, which SVG 1.1 writes apart."""
    if len(colour) < 9:
        return f'{kind}="{colour}"'
    return f'{kind}="{colour[:7]}" {kind}-opacity="{int(colour[7:], 16) / 255:.2g}"'


def _words(
    x: float,
    y: float,
    text: str,
    colour: str,
    *,
    size: int = 12,
    anchor: str = "start",
    weight: str = "normal",
    turn: str = "",
) -> str:
    turned = f" transform={quoteattr(turn)}" if turn else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}"{turned}>{escape(text)}</text>'
    )
