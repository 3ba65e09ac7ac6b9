"""Columns of a frame as plotly traces: thinned, and packed as typed arrays."""

from __future__ import annotations

import sys
from array import array
from base64 import b64encode
from typing import Any

import plotly.graph_objects as go
import polars as pl

from l4strace.report.palette import RECORDED, Stroke, faint
from l4strace.report.thin import thin

GAP_FACTOR = 12
"""A pause longer than this many times the median spacing breaks a line: nothing was measured."""


def packed(values: pl.Series, code: str) -> dict[str, str]:
    """``values`` as plotly's typed array (``d`` double, ``f`` single); null becomes a gap."""
    numbers = array(code, values.cast(pl.Float64).fill_null(float("nan")).to_list())
    if sys.byteorder == "big":
        numbers.byteswap()
    return {"dtype": "f8" if code == "d" else "f4", "bdata": b64encode(numbers.tobytes()).decode()}


def with_gaps(frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` (``x``, ``y``) without null values, with one null where measurement paused.

    A per-round column often has single nulls; drawn as gaps they would hide their neighbours.
    """
    present = frame.drop_nulls().sort("x", maintain_order=True)
    if present.height < 3:
        return present
    step = pl.col("x").diff()
    usual = present.select(step.median()).item()
    breaks = present.filter(step > max(usual * GAP_FACTOR, 0.1)).with_columns(
        pl.col("x") - 1e-9, pl.lit(None, dtype=pl.Float64).alias("y")
    )
    return pl.concat([present, breaks]).sort("x", maintain_order=True) if breaks.height else present


def prepare(frame: pl.DataFrame, y: str, points: int, scale: float = 1.0) -> pl.DataFrame:
    """Columns ``x`` and ``y`` (``frame[y] * scale``), without nulls and thinned to ``points``."""
    picked = frame.select("x", (pl.col(y).cast(pl.Float64) * scale).alias("y")).drop_nulls()
    return with_gaps(thin(picked, "y", points))


def recorded(data: pl.DataFrame, name: str) -> go.Scatter:
    """A line of the kernel's own values: wide and faint, to be drawn under estimates."""
    return line(data, name, RECORDED, width=4.5, opacity=0.4)


def line(
    data: pl.DataFrame, name: str, stroke: Stroke, *, width: float = 1.5, **extra: Any
) -> go.Scatter:
    """A line over ``data`` (``x``, ``y``) as `prepare` returns it."""
    return go.Scatter(
        x=packed(data["x"], "d"),
        y=packed(data["y"], "f"),
        name=name,
        mode="lines",
        line={"color": stroke.light, "dash": stroke.dash, "width": width},
        **extra,
    )


MAX_DOTS = 600
"""Most markers of one series: each is an element of the page, a line is one for all."""


def dots(
    data: pl.DataFrame, name: str, stroke: Stroke, symbol: str = "circle", **extra: Any
) -> go.Scatter:
    """Markers over ``data`` (``x``, ``y``)."""
    data = thin(data.drop_nulls(), "y", MAX_DOTS)
    return go.Scatter(
        x=packed(data["x"], "d"),
        y=packed(data["y"], "f"),
        name=name,
        mode="markers",
        marker={"color": stroke.light, "symbol": symbol, "size": 5},
        **extra,
    )


def band(
    frame: pl.DataFrame, low: str, high: str, name: str, stroke: Stroke, points: int, scale: float
) -> list[go.Scatter]:
    """The range between two columns as a faint area; nothing when it is empty or has no width."""
    both = frame.drop_nulls([low, high])
    if both.height < 2 or both.select((pl.col(low) == pl.col(high)).all()).item():
        return []
    # One row set for both edges: the area would twist if each were thinned on its own.
    kept = thin(both, high, points)
    edge = {"mode": "lines", "line": {"width": 0}, "x": packed(kept["x"], "d")}
    return [
        go.Scatter(y=packed(kept[low] * scale, "f"), showlegend=False, hoverinfo="skip", **edge),
        go.Scatter(
            y=packed(kept[high] * scale, "f"),
            name=name,
            fill="tonexty",
            fillcolor=faint(stroke),
            hoverinfo="skip",
            **edge,
        ),
    ]
