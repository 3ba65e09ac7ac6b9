"""Columns of a frame as plotly traces: thinned, and packed as typed arrays."""

from __future__ import annotations

import sys
from array import array
from base64 import b64encode
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import polars as pl

from l4strace.core import _native
from l4strace.page.drawing.figure import Trace
from l4strace.page.drawing.palette import RECORDED, Stroke, faint
from l4strace.page.drawing.thin import thin

GAP_FACTOR = 12
"""A pause longer than this many times the median spacing breaks a line: nothing was measured."""
GAP_SECONDS = 0.1
"""Shortest pause that interrupts a line, however dense the points are."""
MS, MBIT = 1e-3, 1e-6
"""Scales of series: from us to ms, from bit/s to Mbit/s."""
MAX_DOTS = 600
"""Most markers of one series: each is an element of the page, a line is one for all."""


class Points(NamedTuple):
    """What one series draws: ``y`` over ``x`` (seconds), in order, without nulls."""

    x: list[float]
    y: list[float]

    def __len__(self) -> int:
        return len(self.x)

    def thinned(self, most: int) -> Points:
        """At most ``most`` of the points, including every peak."""
        kept = thin(self.y, most)
        return Points([self.x[i] for i in kept], [self.y[i] for i in kept])


def points_of(frame: pl.DataFrame, y: str, most: int, scale: float = 1.0) -> Points:
    """Columns ``x`` and ``y`` times ``scale``, without nulls, thinned to ``most`` points."""
    xs, ys = thinned(frame, ("x", y), most)
    return Points(xs, [y * scale for y in ys])


def thinned(frame: pl.DataFrame, names: Sequence[str], most: int) -> list[list[float]]:
    """Columns where none is null, thinned to ``most`` rows that keep every peak of the last.

    Plain lists: a page draws a hundred short series, and one query costs as much as 1,000 points.
    """
    columns = [frame[name] for name in names]
    if frame.height > most:
        floats = (column.cast(pl.Float64).alias(f"{i}") for i, column in enumerate(columns))
        return _native.thinned(pl.DataFrame(list(floats)), most)
    values = [column.to_list() for column in columns]
    if any(column.null_count() for column in columns):
        rows = [row for row in zip(*values, strict=True) if None not in row]
        values = [[row[i] for row in rows] for i in range(len(columns))]
    return values


def points(xs: Sequence[float], ys: Sequence[float], most: int, scale: float = 1.0) -> Points:
    """``ys`` times ``scale`` over ``xs``, thinned to ``most`` points."""
    if len(ys) <= most:
        return Points(list(xs), [y * scale for y in ys])
    kept = thin(ys, most)
    return Points([xs[i] for i in kept], [ys[i] * scale for i in kept])


def with_gaps(points: Points) -> Points:
    """``points`` with one NaN where measurement paused.

    A per-round column often has single nulls; drawn as gaps they would hide their neighbors.
    """
    if len(points) < 3:
        return points
    steps = [later - earlier for earlier, later in pairwise(points.x)]
    ordered = sorted(steps)
    median = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    longest = max(median * GAP_FACTOR, GAP_SECONDS)
    if ordered[-1] <= longest:
        return points
    xs, ys = points.x[:1], points.y[:1]
    for step, x, y in zip(steps, points.x[1:], points.y[1:], strict=True):
        if step > longest:
            xs.append(x - 1e-9)
            ys.append(float("nan"))
        xs.append(x)
        ys.append(y)
    return Points(xs, ys)


def packed(values: Iterable[float], code: str) -> dict[str, str]:
    """``values`` as plotly's typed array (``d`` double, ``f`` single); NaN is a gap."""
    numbers = array(code, values)
    if sys.byteorder == "big":
        numbers.byteswap()
    return {"dtype": "f8" if code == "d" else "f4", "bdata": b64encode(numbers.tobytes()).decode()}


def _scatter(points: Points, **properties: Any) -> Trace:
    x, y = packed(points.x, "d"), packed(points.y, "f")
    return {"type": "scatter", "x": x, "y": y, **properties}


def recorded(points: Points, name: str) -> Trace:
    """A line of the kernel's own values: wide and faint, to be drawn under estimates."""
    return line(points, name, RECORDED, width=4.5, opacity=0.4)


def line(
    points: Points,
    name: str,
    stroke: Stroke,
    *,
    width: float = 1.5,
    paused: bool = True,
    **extra: Any,
) -> Trace:
    """A line through ``points``; ``paused``: broken where measurement paused."""
    pen = {"color": stroke.light, "dash": stroke.dash, "width": width}
    points = with_gaps(points) if paused else points
    return _scatter(points, name=name, mode="lines", line=pen, **extra)


def dots(points: Points, name: str, stroke: Stroke, symbol: str = "circle") -> Trace:
    """Markers at ``points``."""
    marker = {"color": stroke.light, "symbol": symbol, "size": 5}
    return _scatter(points.thinned(MAX_DOTS), name=name, mode="markers", marker=marker)


def band(
    frame: pl.DataFrame, low: str, high: str, name: str, stroke: Stroke, most: int, scale: float
) -> list[Trace]:
    """The range between two columns as a faint area; nothing when it is empty or has no width."""
    if (frame[low] == frame[high]).all():
        return []
    # One row set for both edges: the area would twist if each were thinned on its own.
    xs, lows, highs = thinned(frame, ("x", low, high), most)
    if len(xs) < 2:
        return []
    edge: Trace = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    under = _scatter(Points(xs, [v * scale for v in lows]), showlegend=False, **edge)
    fill = {"name": name, "fill": "tonexty", "fillcolor": faint(stroke)}
    return [under, _scatter(Points(xs, [v * scale for v in highs]), **fill, **edge)]
