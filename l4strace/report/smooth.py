"""Per-round rates over equal intervals of time."""

from __future__ import annotations

import polars as pl


def per_interval(rounds: pl.DataFrame, interval: float) -> pl.DataFrame:
    """``goodput_bps`` over intervals of ``interval`` seconds, at their middle (``x``).

    A round's bytes count where the round ends: that is when they were acknowledged.
    """
    ended = rounds.select(
        (pl.col("x") + (pl.col("end_ns") - pl.col("start_ns")) / 1e9).alias("x"), "acked_bytes"
    )
    slots = ended.group_by((pl.col("x") / interval).floor().cast(pl.Int64).alias("slot")).agg(
        pl.col("acked_bytes").sum()
    )
    if not slots.height:
        return pl.DataFrame(schema={"x": pl.Float64, "goodput_bps": pl.Float64})
    first, last = slots["slot"].min(), slots["slot"].max()
    every = pl.DataFrame({"slot": range(first, last + 1)}, schema={"slot": pl.Int64})  # type: ignore[operator, arg-type]
    return every.join(slots, on="slot", how="left").select(
        ((pl.col("slot") + 0.5) * interval).alias("x"),
        (pl.col("acked_bytes").fill_null(0) * 8 / interval).alias("goodput_bps"),
    )
