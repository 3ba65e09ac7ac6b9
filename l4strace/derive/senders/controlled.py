"""Senders of UDP Prague that do as their controller does, replayed from the feedback.

The replay states the window after each round trip (`udp_round_trips`). Where that sets what is in
flight, trip after trip and through many reductions, the sender responds to marks by alpha/2.
"""

from __future__ import annotations

import polars as pl

from l4strace.derive.senders.laws import MIN_LAW_ROUNDS
from l4strace.evidence import Capture, kept
from l4strace.schema.keys import KEY

NEAR_PACKETS = 1
"""Packets that the data in flight may be off the window: one leaves or arrives while the other is
counted, and pacing holds one back."""

LEAST_WINDOW = 8
"""Packets from which a window differs by more than that at a reduction by an eighth. Smaller ones
are near to whatever the sender does."""

EXPLAINED = 0.9
"""Share of round trips from which the replay explains the sender. By eye: recorded senders have
0.95 and more, and the same packets under feedback with half or twice the marks 0.46 and less."""


@kept
def followed(capture: Capture) -> pl.DataFrame:
    """One row per direction that the replay explains: KEY, `trips`, `share`, `reductions`."""
    single = pl.col("round_trips") == 1
    known = capture.udp_round_trips.filter(single).drop_nulls(
        ["window_packets", "inflight_max_packets"]
    )
    window = pl.col("window_packets").cast(pl.Int64)
    before = window.shift().over(KEY).fill_null(window)
    wide = pl.min_horizontal(window, before) >= LEAST_WINDOW
    near = pl.col("inflight_max_packets").is_between(
        pl.min_horizontal(window, before) - NEAR_PACKETS,
        pl.max_horizontal(window, before) + NEAR_PACKETS,
    )
    begun = pl.col("reductions") > 0
    made = pl.col("reductions").cast(pl.Int64) - pl.col("empty_reductions")
    made = made.diff().over(KEY).clip(lower_bound=0).fill_null(0)
    counted = (
        known.select(*KEY, wide=wide, near=near, made=made, begun=begun)
        .filter("wide", "begun")
        .group_by(KEY, maintain_order=True)
        .agg(trips=pl.len(), share=pl.col("near").mean(), reductions=pl.col("made").sum())
    )
    # Without a reduction a window that grows is the same under any law.
    return counted.filter(pl.col("share") >= EXPLAINED, pl.col("reductions") >= MIN_LAW_ROUNDS)
