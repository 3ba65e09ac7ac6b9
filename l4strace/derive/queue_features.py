"""What identifies the bottleneck: marks, delays, rates and neighbours of each flow direction.

Packets only: nothing here reads `capture.kernel`.
"""

from __future__ import annotations

import polars as pl

from l4strace.derive import company, noise, queue_delay
from l4strace.evidence import Capture
from l4strace.schema.keys import KEY

LOW, HIGH = 0.1, 0.9
"""Quantiles in place of smallest and largest, which one odd round decides. By eye."""

FLAT_SHARE = 0.01
"""Part of the distance to the path's smallest RTT by which a flow's own floor may rise: a longer
path has a floor that a tenth of its rounds touch, a queue that never drains has none. Measured:
0.0003 for a path 61 ms longer, 0.08 for Prague that holds CoDel's queue (lab run e)."""

FLAT_US = 100.0
"""Rise of the floor above its smallest RTT in a tenth of the rounds, up to which it was seen empty:
a tenth of DualPI2's step. Measured: at most 30 us behind DualPI2, 400 us and more behind CoDel."""

PARTS = 10
"""Parts of a direction's time in which marks are looked for: tenths."""


def table(capture: Capture) -> pl.DataFrame:
    """Everything that the verdict looks at, one row a direction with enough steady rounds."""
    whole = _above_base(queue_delay.on_paths(capture))
    rounds = company.steady(whole)
    rated = rounds.join(company.rates(rounds), on=["source", "path"], how="left")
    own = _own(rated).join(_start(whole), on=KEY, how="left")
    near = rounds.join(own.select(KEY), on=KEY, how="semi")
    return (
        own.join(_carried(capture), on=KEY, how="left")
        .join(_one_way(capture), on=KEY, how="left")
        .join(noise.table(capture).drop("rounds"), on=KEY, how="left")
        .join(company.neighbours(near), on=KEY, how="left")
        .sort(KEY)
    )


def _above_base(rounds: pl.DataFrame) -> pl.DataFrame:
    """Rounds with `base_us`, their queue delay above it, and `marking_us` of their marked ACKs."""
    own, floor = pl.col("rtt_min_us").min().over(KEY), pl.col("rtt_min_us").quantile(LOW).over(KEY)
    path = pl.col("rtt_min_us").min().over("source", "path")
    longer = floor - own <= FLAT_SHARE * (own - path)
    base = pl.when(longer).then(own).otherwise(path)
    queue = (pl.col("rtt_mean_us") - pl.col("base_us")).clip(lower_bound=0)
    marked = (pl.col("marked_rtt_min_us") - pl.col("base_us")).clip(lower_bound=0)
    # Where no ACK with a mark has an RTT, the round as a whole has to do.
    known = pl.col("marked_rtt_min_us").is_not_null().any().over(KEY)
    marking = pl.when(known).then(marked).otherwise(queue)
    return rounds.with_columns(
        base.alias("base_us"), (floor - own <= FLAT_US).alias("flat")
    ).with_columns(
        queue.alias("queue_delay_us"), pl.when(pl.col("marks") > 0).then(marking).alias("marking_us")
    )


def _own(rounds: pl.DataFrame) -> pl.DataFrame:
    """What a direction's own rounds show."""
    queue, marked = pl.col("queue_delay_us"), pl.col("marks") > 0
    # Loss shows a round trip after the queue that dropped the packet.
    top = pl.col("rtt_max_us") - pl.col("base_us")
    top = pl.max_horizontal(top, *(top.shift(n).over(KEY) for n in (1, 2)))
    lost = pl.col("retransmits") > 0
    part = (pl.col("start_ns") - pl.col("start_ns").min().over(KEY)) * PARTS
    length = pl.col("start_ns").max().over(KEY) - pl.col("start_ns").min().over(KEY) + 1
    marking = pl.col("marking_us")
    return (
        rounds.sort(*KEY, "round")
        .with_columns(top.alias("top_us"), (part // length).alias("part"))
        .group_by(KEY)
        .agg(
            pl.len().alias("rounds"),
            pl.col("rate_bps").first(),
            pl.col("acked_packets").sum().alias("acked"),
            queue.median().alias("queue_delay_us"),
            queue.quantile(HIGH).alias("queue_high_us"),
            marking.quantile(LOW).alias("marking_delay_us"),
            marking.median().alias("marking_median_us"),
            (pl.col("base_us") - pl.col("rtt_min_us").min()).first().abs().alias("base_off_us"),
            pl.col("base_us").first(),
            pl.col("flat").first(),
            marked.sum().alias("marked_rounds"),
            pl.col("part").filter(marked).n_unique().alias("marked_parts"),
            (length.first() / 1e9).alias("seconds"),
            pl.col("marks").sum().alias("marks"),
            pl.col("marks").filter(marked).mean().alias("marks_per_round"),
            pl.col("acked_packets").filter(marked).mean().alias("acked_per_marked_round"),
            pl.col("ece_acks").is_not_null().any().alias("classic_feedback"),
            pl.col("retransmits").fill_null(0).sum().alias("lost"),
            lost.sum().alias("lost_rounds"),
            pl.col("top_us").filter(lost).quantile(LOW).alias("lost_low_us"),
            pl.col("top_us").filter(lost).median().alias("lost_us"),
            pl.col("top_us").filter(lost).quantile(HIGH).alias("lost_high_us"),
            top.quantile(0.99).alias("top_us"),
            pl.col("limited_by").is_in(["app", "rwnd"]).mean().alias("self_limited"),
        )
        .filter(
            (pl.col("rounds") >= company.MIN_STEADY)
            & (pl.col("acked") >= company.MIN_ACKED_PACKETS)
        )
    )


def _start(rounds: pl.DataFrame) -> pl.DataFrame:
    """Largest queue of the whole direction, its start included."""
    return rounds.group_by(KEY).agg(pl.col("queue_delay_us").max().alias("queue_max_us"))


def _one_way(capture: Capture) -> pl.DataFrame:
    """One-way delay at which marks set in above the direction's own floor: both captures."""
    floor = capture.rounds.group_by(KEY).agg(
        pl.col("owd_min_us").min().alias("owd_floor_us"),
        pl.col("owd_min_us").quantile(LOW).alias("owd_low_us"),
    )
    longer = pl.col("owd_low_us") - pl.col("owd_floor_us") <= FLAT_SHARE * pl.col("owd_floor_us")
    base = pl.when(longer).then("owd_floor_us").otherwise(0.0)
    return (
        capture.paths.rename({"near": "source"})
        .join(floor, on=KEY, how="inner")
        .unique(KEY, keep="first", maintain_order=True)
        .select(
            *KEY,
            (pl.col("marked_owd_p10_us") - base).alias("marked_owd_us"),
            (pl.col("marked_owd_median_us") - base).alias("marked_owd_median_us"),
            pl.col("lost").alias("really_lost"),
        )
    )


def _carried(capture: Capture) -> pl.DataFrame:
    """Path and codepoint of a direction, and whether the path erases codepoints."""
    erased_syn = (
        pl.when("forward")
        .then((pl.col("syn_ecn") > 0) & (pl.col("syn_arrived_ecn") == 0))
        .otherwise((pl.col("synack_ecn") > 0) & (pl.col("synack_arrived_ecn") == 0))
    )
    counted = pl.sum_horizontal("e1b_bytes", "e0b_bytes", "ceb_bytes")
    uncounted = (
        pl.col("e1b_bytes").is_not_null()
        & (counted == 0)
        & (pl.col("acked_bytes") > company.MIN_ACKED_PACKETS * 1000)
    )
    erased = (erased_syn.fill_null(False) | uncounted).any().over("source", "path")
    # The option counts CE bytes that the counter in the flags never reported: it is mangled.
    reported = (pl.col("ce_fed_back_best") * 4 + 8) * pl.col("max_payload")
    deaf = pl.col("ceb_bytes") > reported
    began = (pl.col("handshake") != "none").any().over("source", "path")
    return company.directions(capture).select(
        *KEY,
        "path",
        "marked_as",
        began.alias("began"),
        erased.alias("erased"),
        deaf.fill_null(False).alias("deaf"),
        pl.col("retransmits").alias("losses"),
    )
