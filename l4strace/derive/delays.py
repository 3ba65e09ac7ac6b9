"""The largest delay of each round above what the direction's packets take without a queue.

One-way delay where two captures know it, else RTT. A single late sample is no queue: a delayed ACK
(RFC 1122 section 4.2.3.2: up to 500 ms, Linux 40 ms and more), an ACK that a link held, or a
packet that was lost and matched to its retransmission. Where the receiver answered other packets of
the round at once, these decide; else the other samples of the round and the rounds beside it.
"""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.derive import company, numbers, one_way, queue_delay
from l4strace.evidence import Capture
from l4strace.schema.keys import KEY
from l4strace.schema.vantage import receiver

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
    known, of = _directions(capture), numbers.directions(capture)
    near = known["near"].gather(of).fill_null(value=False)
    single = (pl.col("sent_packets").fill_null(0) <= 1) & (pl.col("acked_packets") <= 1)
    counts = near & ~(single & (pl.col("limited_by") != "cwnd").fill_null(True))
    own = [name for name in dict.fromkeys((*KEY, *SAMPLES, *HANDED_ON)) if name not in OF_DIRECTION]
    every = capture.rounds.lazy().with_columns(of=of).filter(counts).select("of", *own).collect()
    seen = numbers.ordered(every, numbers.rising(capture))
    seen = seen.hstack(known.drop("near")[seen["of"]])
    based = seen.lazy().join(_bases(seen.lazy()), on="of", how="left", maintain_order="left")
    shown = [*SAMPLES, "base_us", "owd_base_us", "overtakes", "merged"]
    whole = based.select(list(dict.fromkeys((*shown, *HANDED_ON)))).collect()
    made = pl.DataFrame(_native.path_delays(whole.select(shown).rechunk()))
    return whole.select(*HANDED_ON, "base_us").hstack(made)


OF_DIRECTION = ("of", "path")
"""Those that are no columns of `rounds`."""


def _directions(capture: Capture) -> pl.DataFrame:
    """Of each direction its path, whether its rounds hold queue (`near`), and what is known of it.

    `merged`: its packets hold several segments.
    """
    known = company.directions(capture).lazy()
    known = known.select(
        *(*KEY, "path"),
        at=numbers.paths(capture),
        near=pl.col("vantage").ne_missing(receiver()),
        merged=pl.col("super_packets").fill_null(0) > 0,
    )
    floors = queue_delay.bases(capture).lazy().select(*KEY, "floor_us")
    bases = one_way.bases(capture).lazy().with_columns(pl.col("overtakes").fill_null(False))
    for more in (floors, bases.select(*KEY, "overtakes", "owd_base_us")):
        known = known.join(more, on=KEY, how="left", maintain_order="left")
    return known.drop(KEY).collect()


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
