"""Per-round rates over equal intervals of time."""

from __future__ import annotations

import polars as pl

MOST = 1000
"""Intervals in the whole run: a chart has about as many columns."""
ROUNDS = 4
"""Round trips in an interval, so that the edges of rounds move its rate by a quarter at most."""
SHORTEST_S = 0.01
"""However short the rounds: one ACK 40 us after another does not make a rate of 100 Gbit/s."""


def interval_of(rounds: pl.DataFrame, length: float) -> float:
    """Seconds of the intervals that suit ``rounds`` in a run of ``length`` seconds."""
    usual = (rounds["end_ns"] - rounds["start_ns"]).median()
    spans = ROUNDS * usual / 1e9 if isinstance(usual, int | float) else 0.0
    return max(length / MOST, spans, SHORTEST_S)


def per_interval(rounds: pl.DataFrame, interval: float) -> pl.DataFrame:
    """``goodput_bps`` and ``retransmits`` over intervals of so many seconds; ``x``: middle.

    A round's bytes count where the round ends: that is when they were acknowledged.
    """
    ended = pl.col("x") + (pl.col("end_ns") - pl.col("start_ns")) / 1e9
    slot = (ended / interval).floor().cast(pl.Int64)
    sums = pl.col("acked_bytes", "retransmits").sum()
    found = rounds.lazy().group_by(slot.alias("slot")).agg(sums).collect()
    sums_of = {slot: (acked, again) for slot, acked, again in found.rows()}
    slots = range(min(sums_of), max(sums_of) + 1) if sums_of else range(0)
    rows = [sums_of.get(slot, (0, 0)) for slot in slots]
    return pl.DataFrame(
        {
            "x": [(slot + 0.5) * interval for slot in slots],
            "goodput_bps": [acked * 8 / interval for acked, _ in rows],
            "retransmits": [again for _, again in rows],
        },
        schema={"x": pl.Float64, "goodput_bps": pl.Float64, "retransmits": pl.Int64},
    )
