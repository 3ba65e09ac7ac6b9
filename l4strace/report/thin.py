"""Fewer points, same picture: min/max thinning."""

from __future__ import annotations

import polars as pl

MAX_POINTS = 4000
"""Most points of one series on a page (a screen has fewer columns)."""


def thin(frame: pl.DataFrame, value: str, points: int = MAX_POINTS) -> pl.DataFrame:
    """At most ``points`` rows of ``frame``, in order, that keep every peak of column ``value``.

    The rows are cut into equal runs; of each the smallest and the largest value stay, and the
    first and last row of all, so that no spike is lost and the time axis keeps its ends.
    """
    if frame.height <= points:
        return frame
    runs = max(1, (points - 2) // 2)
    index = pl.int_range(pl.len())
    kept = (
        frame.select(value)
        .with_columns(index.alias("row"), (index * runs // frame.height).alias("run"))
        .group_by("run")
        .agg(
            pl.col("row").get(pl.col(value).arg_min().fill_null(0)).alias("low"),
            pl.col("row").get(pl.col(value).arg_max().fill_null(0)).alias("high"),
        )
    )
    rows = {0, frame.height - 1, *kept["low"].to_list(), *kept["high"].to_list()}
    return frame[sorted(rows)]
