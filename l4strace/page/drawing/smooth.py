"""Per-round rates over equal intervals of time."""

from __future__ import annotations

import polars as pl


def per_interval(rounds: pl.DataFrame, interval: float) -> pl.DataFrame:
    """``goodput_bps`` over intervals of ``interval`` seconds, at their middle (``x``).

    A round's bytes count where the round ends: that is when they were acknowledged.
    """
    ended = pl.col("x") + (pl.col("end_ns") - pl.col("start_ns")) / 1e9
    slot = (ended / interval).floor().cast(pl.Int64)
    found = rounds.lazy().group_by(slot.alias("slot")).agg(pl.col("acked_bytes").sum()).collect()
    acked: dict[int, int] = dict(found.rows())
    slots = range(min(acked), max(acked) + 1) if acked else range(0)
    return pl.DataFrame(
        {
            "x": [(slot + 0.5) * interval for slot in slots],
            "goodput_bps": [acked.get(slot, 0) * 8 / interval for slot in slots],
        },
        schema={"x": pl.Float64, "goodput_bps": pl.Float64},
    )
