"""How much of the time a score is above 8: from one step of the detector to the next."""

from __future__ import annotations

import polars as pl

from l4strace.schema.keys import DIRECTION


def in_time(steps: pl.DataFrame, **states: pl.Expr) -> pl.DataFrame:
    """Steps with their ``states`` (`above` and others), each as a column.

    And with `lasted`, the time to the direction's next step, and `crossed`: `above` has changed.
    The table `detector` has them in the order of direction and time, so neighbors are what a
    shift of the whole column shows: many short flows are many groups.
    """
    ordered = steps.with_columns(**states)
    same = pl.all_horizontal(pl.col(key) == pl.col(key).shift() for key in DIRECTION)
    ahead = pl.col("ts_ns").shift(-1) - pl.col("ts_ns")
    return ordered.with_columns(
        lasted=pl.when(same.shift(-1)).then(ahead),
        crossed=same & (pl.col("above") != pl.col("above").shift()),
    )


def time_share(state: str) -> pl.Expr:
    """Share of the time between steps; that of the steps where there is only one."""
    lasted = pl.col("lasted")
    share = pl.when(state).then(lasted).sum() / lasted.sum()
    return share.fill_nan(None).fill_null(pl.col(state).mean())
