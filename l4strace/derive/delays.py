"""The largest delay of each round above what the direction's packets take without a queue.

One-way delay where two captures know it, else RTT. A single late sample is no queue: a delayed ACK
(RFC 1122 section 4.2.3.2: up to 500 ms, Linux 40 ms and more), an ACK that a link held, or a
packet that was lost and matched to its retransmission. Where the receiver answered other packets of
the round at once, these decide; else the other samples of the round and the rounds beside it.
"""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.derive import company, one_way, queue_delay
from l4strace.evidence import Capture
from l4strace.schema.keys import KEY

SLOT_NS = 500_000_000
"""Slots in which base RTTs of flows are compared: some round trips of any path. By eye."""

SAMPLES = (
    *("of", "acked_packets", "sent_packets", "retransmits", "rtt_samples"),
    *("rtt_min_us", "rtt_mean_us", "rtt_max_us", "rtt_prompt_max_us"),
    *("sacked_rtt_min_us", "sacked_rtt_max_us", "owd_min_us", "owd_mean_us", "owd_max_us"),
)
"""Columns of rounds that show their delay."""

HANDED_ON = (
    *(*KEY, "of", "path", "round", "start_ns", "end_ns", "first_frame", "last_frame"),
    *("acked_packets", "retransmits", "slow_start", "inflight_max_packets", "burst_bytes"),
)
"""Columns that stand beside the delay."""


def rounds(capture: Capture) -> pl.DataFrame:
    """Rounds near the sender with `path`, `delay_us` (largest) and `one_way` (which kind it is).

    Left out are rounds of single packets that no full window sent: their ACKs may wait.
    """
    needed = {*SAMPLES, *HANDED_ON, "at", "floor_us", "limited_by"}
    near = _merged(capture, queue_delay.on_paths(capture).lazy().select(sorted(needed)))
    single = (pl.col("sent_packets").fill_null(0) <= 1) & (pl.col("acked_packets") <= 1)
    near = near.filter(~(single & (pl.col("limited_by") != "cwnd").fill_null(True)))
    bases = one_way.bases(capture).lazy().with_columns(pl.col("overtakes").fill_null(False))
    directions = company.directions(capture).lazy().select(KEY)
    known = directions.join(bases, on=KEY, how="left", maintain_order="left").drop(KEY)
    seen = near.collect()
    seen = seen.hstack(known.collect()[seen["of"]])
    based = seen.lazy().join(_bases(seen.lazy()), on="of", how="left", maintain_order="left")
    shown = [*SAMPLES, "base_us", "owd_base_us", "overtakes", "merged"]
    whole = based.select(list(dict.fromkeys((*shown, *HANDED_ON)))).collect()
    made = pl.DataFrame(_native.path_delays(whole.select(shown).rechunk()))
    return whole.select(*HANDED_ON, "base_us").hstack(made)


def _merged(capture: Capture, near: pl.LazyFrame) -> pl.LazyFrame:
    """With `merged`: whether packets of the direction hold several segments."""
    packets = capture.directions.select(*KEY, merged=pl.col("super_packets").fill_null(0) > 0)
    if not packets["merged"].any():
        return near.with_columns(merged=pl.lit(False))
    return near.join(packets.lazy(), on=KEY, how="left", maintain_order="left")


def _bases(near: pl.LazyFrame) -> pl.LazyFrame:
    """RTT of each direction without queue: its own smallest, or less where it never saw it.

    A flow that starts into a standing queue never meets an empty one; the smallest distance to what
    other flows of the path see at the same time shows how much longer its own way is.
    """
    slot = pl.col("start_ns") // SLOT_NS
    # Packets that overtook others skipped a part of the path.
    floor = pl.when("overtakes").then("floor_us")
    own = near.group_by("of", slot.alias("slot")).agg(
        pl.max_horizontal("rtt_min_us", floor).min().alias("rtt_min_us"), pl.col("at").first()
    )
    where = ["at", "slot"]
    ranked = own.with_columns(
        pl.col("rtt_min_us").min().over(where).alias("first"),
        pl.col("rtt_min_us").bottom_k(2).max().over(where).alias("second"),
        pl.len().over(where).alias("flows"),
        pl.col("rtt_min_us").min().over("at").alias("path_us"),
    )
    others = pl.when(pl.col("rtt_min_us") > pl.col("first")).then("first").otherwise("second")
    apart = pl.when(pl.col("flows") > 1).then((pl.col("rtt_min_us") - others).clip(lower_bound=0))
    least = pl.col("rtt_min_us").min()
    longer = pl.col("path_us").first() + apart.min()
    return ranked.group_by("of").agg(
        pl.min_horizontal(least, longer).alias("base_us"), pl.col("path_us").first()
    )
