"""What makes packets late apart from a queue: jitter, bursty release, reordering.

Jitter is read from the rounds with the least spread: while the queue hardly moves, packets of one
round trip differ by the noise of the path and by the time of a packet. Measured on captures of
Prague and CUBIC (DualPI2, CoDel, 50 Mbit/s) to which jitter of 4, 10 and 20 ms range was added in
order: the estimate is 0.4 to 0.6 of the range; without it at most 0.9 ms.
"""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.derive import neighbors, numbers, queue_delay
from l4strace.derive.measured import measured
from l4strace.evidence import Capture, kept
from l4strace.schema import TABLES
from l4strace.schema.keys import KEY
from l4strace.schema.vantage import receiver

MIN_FULL_ROUNDS = 10
"""Fewer rounds with that many samples have no lower quartile worth the name. By eye."""

PACKETS_US = 2.0
"""Times of a packet that a round spreads over without noise: delayed ACKs cover two packets
(RFC 5681 section 4.2)."""

STEPS = 1.5
"""Half the range over the mean step between samples, which is a third of the range of a uniform
distribution: used where rounds have too few samples to show their spread."""

HIDES, NOTED_US = _native.HIDES, _native.NOTED_US
"""What noise adds to delays, and the jitter from which packets are bursts: `measure/phases.rs`."""

JUMPS = 0.2
"""Mean step between the samples of a round, in parts of their spread, below which a queue that
grows or drains spreads them: steps one way are small, those of noise a third of its range (a
quarter in order). Lab runs of FIFOs: 0.07 to 0.15; with jitter of 1 ms and more: from 0.22."""

TRAIN_TIMES = 4.0
"""Delivery that is so many times as fast as the path shows packets that were held and released
together. By eye: a bottleneck spaces packets at its own rate, and ACKs vary by less than two."""

STRETCH = 4.0
"""Packets per ACK, twice what a receiver may collect (RFC 5681 section 4.2): they reached it at
once, or their ACKs did not come one by one."""

HELD_US = 2000.0
"""Time from one such ACK to the next that shows a link at work: interrupt moderation and receive
offload hold packets for a fraction of that. By eye."""

WITHIN = 2.0
"""Spread of the delays of a round, in times of that: packets wait for the next release and for no
longer, while jitter that keeps their order gathers them behind one of many delays."""

ALIKE = 1.5
"""Median of the spreads of rounds in times of their lower quartile, up to which releases of a link
explain them. Simulated, slots whose lengths differ by up to two: 1.04 to 1.27; recorded, a host
that stalls now and then while slow start fills the queue: 2.2."""

REORDERED = 0.001
"""Share of late packets that is noted (L4S407), and from which a retransmission need not mean a
loss. By eye."""

ALL_FORWARD, ALL_BACK = 2 / 5**0.5, 1 / 5**0.5
"""Spread of the one-way delay in parts of that of the RTT, from which the data direction adds the
jitter, and up to which the ACK direction does: the one adds twice as much as the other then, as
variances of independent delays add up."""


@kept
def table(capture: Capture) -> pl.DataFrame:
    """One row per flow direction with enough rounds, in the schema of `noise`."""
    schema = TABLES["noise"]
    if capture.rounds.is_empty():
        return schema.empty()
    own = _own(capture)
    # A flow with few packets a round shows less of the noise than its neighbor on the same path.
    path = ["source", "path"]
    shared = own.with_columns(
        pl.coalesce("spread_us", pl.col("spread_us").max().over(path), "steps_us").alias("rtt_us"),
        pl.coalesce("owd_us", pl.col("owd_us").max().over(path)).alias("owd_us"),
    )
    jumping = pl.when(pl.col("jumps") < JUMPS).then(pl.min_horizontal("spread_us", "steps_us"))
    common = pl.coalesce(jumping, "spread_us", "steps_us").min().over(path)
    shared = shared.with_columns(common.alias("common_us"))
    seen = _reordered(capture).join(shared, on=KEY, how="left", maintain_order="left")
    return schema.conform(seen.with_columns(_verdict()).sort(KEY).collect())


def _own(capture: Capture) -> pl.LazyFrame:
    """Spread of quiet rounds above the time of packets, and what else shows bursts."""
    bases = queue_delay.bases(capture).lazy().select(*KEY, "base_us")
    directions = (
        neighbors.directions(capture)
        .lazy()
        .select(*KEY, "path", at=numbers.paths(capture))
        .join(bases, on=KEY, how="left", maintain_order="left")
        .collect()
    )
    rounds = measured(capture)
    spread, rates = pl.DataFrame(rounds.noise()), pl.LazyFrame(rounds.rates())
    seen = directions[spread["of"]].hstack(spread).lazy()
    packets = PACKETS_US * neighbors.packet_us()
    return (
        seen.filter(pl.col("rounds") >= neighbors.MIN_STEADY)
        .join(rates, on="at", how="left", maintain_order="left")
        .with_columns(packets.alias("packets_us"))
        .with_columns(
            *(_quiet(of).alias(name) for of, name in (("rtt", "spread_us"), ("owd", "owd_us"))),
            (pl.col("rtt_jitter_us") - pl.col("packets_us") / PACKETS_US)
            .clip(lower_bound=0)
            .mul(STEPS)
            .alias("steps_us"),
            (pl.col("rtt_min_us") - pl.col("base_us")).alias("floor_us"),
            (pl.col("train_bps") / pl.col("rate_bps")).alias("train_times"),
        )
    )


def _quiet(of: str) -> pl.Expr:
    above = (pl.col(f"{of}_quiet") - pl.col("packets_us")).clip(lower_bound=0)
    return pl.when(pl.col(f"{of}_full") >= MIN_FULL_ROUNDS).then(above)


def _verdict() -> list[pl.Expr]:
    one_way = pl.col("owd_us").is_not_null()
    bursty = (
        (pl.col("train_times") >= TRAIN_TIMES)
        & (pl.col("rtt_us") >= NOTED_US)
        # Released together, the last packet of a burst hardly waited; in order, all wait.
        & (pl.col("floor_us") < pl.col("usual_us") / 2)
        & (pl.col("usual_us") <= ALIKE * pl.col("rtt_quiet"))
    )
    # A packet that overtakes others is reported with them only when the last of them arrives.
    released = (
        (pl.col("stretch") >= STRETCH)
        & (pl.col("period_us") >= HELD_US)
        & (pl.col("answers_us") <= WITHIN * pl.col("period_us"))
        & (pl.col("answered") >= pl.max_horizontal(pl.col("rounds") / 2, pl.lit(MIN_FULL_ROUNDS)))
        & (pl.col("late_share") < REORDERED)
        # Nor do super-packets that no link split arrive one by one (lab run s1001-035).
        & (pl.col("super_packets").fill_null(0) == 0)
    )
    return [
        pl.col("rtt_us").alias("jitter_us"),
        (HIDES * pl.col("rtt_us")).alias("hides_us"),
        (HIDES * pl.min_horizontal("owd_us", "rtt_us")).alias("hides_owd_us"),
        pl.when(bursty).then("usual_us").when(released).then("period_us").alias("release_us"),
        pl.when(one_way & (pl.col("rtt_us") >= NOTED_US))
        .then(
            pl.when(pl.col("owd_us") >= ALL_FORWARD * pl.col("rtt_us"))
            .then(pl.lit("forward"))
            .when(pl.col("owd_us") <= ALL_BACK * pl.col("rtt_us"))
            .then(pl.lit("ack"))
            .otherwise(pl.lit("both"))
        )
        .alias("added_by"),
        pl.when(one_way)
        .then(pl.lit("one-way delay"))
        .when(pl.col("rtt_us").is_not_null())
        .then(pl.lit("rtt"))
        .alias("basis"),
    ]


def _reordered(capture: Capture) -> pl.LazyFrame:
    """Packets of each direction that arrived late: as a capture behind the reordering saw them, or
    as ACKs reported them to any capture, which knows no retransmission from a late packet's copy.

    Of a super-packet one part may be lost: its retransmission is reported after what was sent
    later, although the rest was sent once. As many late packets as retransmissions show nothing.
    At the receiver the order of arrival shows late packets: SACK has no room for all behind many
    holes, and what was sent again for that comes after the ACK.
    """
    repaired = (pl.col("super_packets") > 0) & (pl.col("overtaken") <= pl.col("retransmits"))
    arrived = pl.col("vantage") == receiver()
    places = capture.flows.lazy().select("source", "flow", "vantage")
    directions = capture.directions.lazy().join(
        places, on=["source", "flow"], how="left", maintain_order="left"
    )
    rows = directions.select(
        *KEY,
        "data_segments",
        "out_of_order",
        "super_packets",
        pl.when((repaired | arrived).fill_null(False))
        .then(0)
        .otherwise("overtaken")
        .alias("overtaken"),
    )
    there = ["flow", "forward"]
    late = pl.max_horizontal("out_of_order", "overtaken").fill_null(0)
    return (
        rows.with_columns(pl.col("data_segments", "out_of_order", "overtaken").cast(pl.Int64))
        .with_columns(late.max().over(there).alias("late_packets"))
        .with_columns(
            (pl.col("late_packets") / pl.col("data_segments").max().over(there)).alias("late_share")
        )
        .filter(pl.col("data_segments") > 0)
        .select(*KEY, "late_packets", "late_share", "super_packets")
    )
