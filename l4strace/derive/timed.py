"""Quantiles over the time of rounds: one through a long queue lasts longer than one without."""

from __future__ import annotations

import polars as pl


def quantile(column: str, share: float) -> pl.Expr:
    """The value of rows of `rounds` that ``column`` does not exceed for ``share`` of the time."""
    value = pl.col(column)
    known = value.is_not_null()
    length = (pl.col("end_ns") - pl.col("start_ns")).filter(known)
    ordered = value.filter(known)
    elapsed = length.sort_by(ordered).cum_sum()
    return ordered.sort().filter(elapsed >= share * length.sum()).first()


def median(column: str) -> pl.Expr:
    """The value of rows of `rounds` that ``column`` does not exceed for half of the time."""
    return quantile(column, 0.5)
