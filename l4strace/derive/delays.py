"""The largest delay of each round above what the direction's packets take without a queue.

One-way delay where two captures know it, else RTT. A single late sample is no queue: a delayed ACK
(RFC 1122 section 4.2.3.2: up to 500 ms, Linux 40 ms and more), an ACK that a link held, or a
packet that was lost and matched to its retransmission. Where the receiver answered other packets of
the round at once, these decide; else the other samples of the round and the rounds beside it.
"""

from __future__ import annotations

import polars as pl

from l4strace.derive import one_way, queue_delay
from l4strace.evidence import Capture
from l4strace.schema.keys import KEY, of_round

SEVERAL = 1.5
"""Samples at the height of the largest, as the mean of the round shows, from which it is not alone:
a queue that grows evenly over three samples. By eye."""

BESIDE = {"rtt": 0.7, "owd": 0.5}
"""Part of a single sample's height that a round beside it must reach on average: more for RTTs, as
an ACK may be delayed while a queue stands. By eye."""

CALM = 0.25
"""Part of the largest sample's height below which all of the rounds beside it stay where that
sample is alone: far below BESIDE. By eye."""

FEW = 3
"""Samples of a round that a retransmission leaves without weight: an ACK that waited for the hole
to be filled shows the time of the repair. Where SACK reports each packet there are more."""

SLOT_NS = 500_000_000
"""Slots in which base RTTs of flows are compared: some round trips of any path. By eye."""

NEEDED = (
    *KEY,
    *("round", "start_ns", "end_ns", "first_frame", "last_frame", "retransmits", "slow_start"),
    *("rtt_min_us", "rtt_mean_us", "rtt_max_us", "rtt_prompt_max_us", "rtt_samples"),
    *("owd_min_us", "owd_mean_us", "owd_max_us", "sent_packets", "acked_packets", "limited_by"),
    *("inflight_max_packets", "burst_bytes", "sacked_rtt_min_us", "sacked_rtt_max_us"),
    *("path", "of", "at", "floor_us"),
)


def rounds(capture: Capture) -> pl.DataFrame:
    """Rounds near the sender with `path`, `delay_us` (largest) and `one_way` (which kind it is).

    Left out are rounds of single packets that no full window sent: their ACKs may wait.
    """
    near = _merged(capture, queue_delay.on_paths(capture).select(NEEDED))
    single = (pl.col("sent_packets").fill_null(0) <= 1) & (pl.col("acked_packets") <= 1)
    near = near.filter(~(single & (pl.col("limited_by") != "cwnd").fill_null(True)))
    bases = one_way.bases(capture).with_columns(pl.col("overtakes").fill_null(False))
    near = near.join(bases, on=KEY, how="left", maintain_order="left")
    near = near.join(_bases(near), on="of", how="left", maintain_order="left")
    repaired = pl.col("retransmits").fill_null(0)
    hole = repaired + of_round(1, repaired).fill_null(0) > 0
    # So does one behind a packet that others overtook.
    hole |= pl.col("sacked_rtt_max_us").is_not_null()
    held = hole & (pl.col("rtt_samples") <= FEW)
    # Packets behind a loss have no RTT but that of SACK; the receiver reports each at once.
    sacked = (_sacked() - pl.col("base_us")).clip(lower_bound=0)
    rtt = pl.max_horizontal(
        pl.when(~held).then(_largest("rtt", pl.col("rtt_samples"), pl.col("base_us"))), sacked
    )
    owd = pl.lit(None, dtype=pl.Float64())
    if near["owd_max_us"].count():
        least = pl.col("owd_min_us").min().over("of")
        least = pl.when("overtakes").then("owd_base_us").otherwise(least)
        owd = _largest("owd", pl.col("sent_packets"), least)
        owd = pl.when(pl.col("owd_max_us").is_not_null()).then(owd)
    return near.with_columns(rtt.alias("rtt"), owd.alias("owd")).with_columns(
        pl.coalesce("owd", "rtt").alias("delay_us"), pl.col("owd").is_not_null().alias("one_way")
    )


def _merged(capture: Capture, near: pl.DataFrame) -> pl.DataFrame:
    """With `merged`: whether packets of the direction hold several segments."""
    packets = capture.directions.select(*KEY, merged=pl.col("super_packets").fill_null(0) > 0)
    if not packets["merged"].any():
        return near.with_columns(merged=pl.lit(False))
    return near.join(packets, on=KEY, how="left", maintain_order="left")


def _sacked() -> pl.Expr:
    """Largest RTT that SACK reports. Of a super-packet one segment may be lost.

    SACK reports all of that packet after the repair: its delay counts where a round beside it bears
    it out, else the smallest of the round.
    """
    most, base = pl.col("sacked_rtt_max_us"), pl.col("base_us")
    others = _beside(pl.max_horizontal("sacked_rtt_max_us", "rtt_mean_us")) - base
    alone = (others < BESIDE["rtt"] * (most - base)).fill_null(True)
    return pl.when(pl.col("merged") & alone).then("sacked_rtt_min_us").otherwise(most)


def _largest(kind: str, samples: pl.Expr, base: pl.Expr) -> pl.Expr:
    """Largest delay above ``base``; without the largest sample where nothing bears it out."""
    least, mean, most = (pl.col(f"{kind}_{which}_us") for which in ("min", "mean", "max"))
    count = samples.cast(pl.Float64).clip(lower_bound=1)
    lone = pl.lit(False)
    if kind == "rtt":
        # The only ACK of a round, and of one packet, may have been held back: it shows no more than
        # the rounds beside it, and bears none out.
        lone = pl.col("rtt_prompt_max_us").is_null() & (count <= 1)
        lone &= pl.col("acked_packets") <= 1
        # Without the ACK that the receiver held back.
        prompt, largest = pl.col("rtt_prompt_max_us"), most
        held = (prompt < largest).fill_null(False)
        mean = pl.when(held).then((count * mean - largest) / (count - 1)).otherwise(mean)
        most = pl.when(held).then(prompt).otherwise(largest)
        count = count - held.cast(pl.Float64)
    height = most - base
    several = count * (mean - least) >= SEVERAL * (most - least)
    # Nor do small ones, however many, where the rounds beside this one have no others.
    calm = _beside(pl.col(f"{kind}_max_us")) - least < CALM * (most - least)
    usual = pl.max_horizontal(_beside(pl.col(f"{kind}_mean_us")), least)
    several &= ~(calm & (count * (mean - usual) < SEVERAL * (most - least))).fill_null(value=False)
    without = (count * mean - most) / (count - 1)
    # Two delayed ACKs do not bear each other out: of two or three samples the largest is left out,
    # unless the receiver answered at once and the others are as high.
    two = count.is_between(2, FEW)
    alike = two & (without - base >= BESIDE[kind] * height)
    if kind == "rtt":
        alike &= pl.col("rtt_prompt_max_us").is_not_null()
    near = pl.when(two).then(without).when(~lone).then(mean)
    # Nor does one that is alone in its round, where a packet of this round did not wait.
    others = pl.when(two).then(_beside(pl.when(count >= 2).then(near))).otherwise(_beside(near))
    beside = others - base
    rest = pl.when(count >= 2).then(without - base).otherwise(beside.fill_null(0.0))
    # One sample alone is its own mean, so only the rounds beside it count.
    borne_out = (several & (count >= 2)) | (beside >= BESIDE[kind] * height).fill_null(False)
    borne_out |= alike.fill_null(value=False)
    largest = pl.when(lone).then(pl.min_horizontal(height, beside)).when(borne_out).then(height)
    known = most.is_not_null() & (~lone | beside.is_not_null())
    return pl.when(known).then(largest.otherwise(rest).clip(lower_bound=0))


def _beside(column: pl.Expr) -> pl.Expr:
    """The larger value of the rounds before and after."""
    return pl.max_horizontal(*(of_round(step, column) for step in (-1, 1)))


def _bases(near: pl.DataFrame) -> pl.DataFrame:
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
