"""What captures of both ends show of the marked packets: their one-way delay, and their number."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from l4strace.derive import neighbors, noise, queue_delay
from l4strace.derive.measured import measured
from l4strace.evidence import Capture, kept, traffic
from l4strace.schema.keys import DIRECTION, KEY
from l4strace.schema.vantage import RANKS, distance

ABOVE = (
    *("owd_median_us", "owd_p99_us", "owd_max_us"),
    *("marked_owd_p10_us", "marked_owd_median_us"),
)
"""Columns of `paths` that are delays above that of an empty queue."""


@kept
def end_to_end(capture: Capture) -> pl.DataFrame:
    """Rows of `paths` whose far capture is at the receiver, or may be.

    Behind any other, such as a tap in front of the bottleneck, packets go on to wait, be marked and
    be lost: delays and counts up to there are not those of the path.
    """
    if capture.paths.is_empty():
        return capture.paths
    flows = traffic(capture).flows
    places = flows.select("flow", "vantage", far="source").unique(["far", "flow"])
    ways = capture.paths.join(places, on=["far", "flow"], how="left", maintain_order="left")
    return ways.filter(distance() >= RANKS.index("unknown")).select(capture.paths.columns)


def without_partial_paths(capture: Capture) -> Capture:
    """The run without delays and counts between captures that see only a part of the path."""
    ends = end_to_end(capture)
    if ends.height == capture.paths.height:
        return capture
    on = ["near", "far", "flow", "forward"]
    parts = capture.paths.join(ends, on=on, how="anti").rename({"near": "source"})
    parts = parts.select(*KEY, part=pl.lit(value=True))
    rounds = capture.rounds.join(parts, on=KEY, how="left", maintain_order="left")
    delays = [name for name in capture.rounds.columns if name.startswith(("owd_", "marked_owd_"))]
    shown = [pl.when(pl.col("part").is_null()).then(name).alias(name) for name in delays]
    shown_rounds = rounds.with_columns(shown).select(capture.rounds.columns)
    return replace(capture, paths=ends, rounds=shown_rounds)


def paths(capture: Capture) -> pl.DataFrame:
    """`paths` with its delays above those of the direction's own empty queue.

    As decoded they are above the smallest of all flows: where flows have paths of unequal length,
    or packets skip a part of the path, that is not the delay of an empty queue.
    """
    if capture.paths.is_empty():
        return capture.paths
    own = bases(capture)
    for more in (queue_delay.bases(capture), neighbors.directions(capture).select(*KEY, "path")):
        own = own.join(more, on=KEY, how="left", maintain_order="left")
    # One of these packets in most rounds is the floor of its flow: another's is surer.
    surest = pl.col("owd_base_us").max().over("source", "path", "base_us")
    base = pl.when("overtakes").then(surest).otherwise("owd_base_us").alias("owd_base_us")
    own = own.select(*KEY, base).rename({"source": "near"})
    near = ["near", "flow", "forward"]
    joined = capture.paths.join(own, on=near, how="left", maintain_order="left")
    empty = pl.col("owd_base_us").fill_null(0.0)
    above = [(pl.col(name) - empty).clip(lower_bound=0).alias(name) for name in ABOVE]
    return joined.with_columns(above).drop("owd_base_us")


def delays(capture: Capture) -> pl.DataFrame:
    """One-way delay at which marks set in above the direction's own floor: both captures.

    By packets or by rounds: a queue that overshoots marks many packets in few rounds.
    """
    if capture.paths.is_empty():
        return capture.paths.select(*DIRECTION, source="near", marked_owd_us="marked_owd_p10_us")
    return (
        capture.paths.rename({"near": "source"})
        .join(bases(capture), on=KEY, how="inner")
        .unique(KEY, keep="first", maintain_order=True)
        .select(
            *KEY,
            (pl.min_horizontal("marked_owd_p10_us", "owd_marked_us") - pl.col("owd_base_us"))
            .clip(lower_bound=0)
            .alias("marked_owd_us"),
        )
    )


def marked_between(capture: Capture) -> pl.DataFrame:
    """Marks of the ECT(0) packets of each path, counted between two captures.

    Classic feedback says only that there were some, and a path that zeroes ACE erases it.
    """
    if capture.paths.is_empty():
        return pl.DataFrame(schema=_BETWEEN)
    paths = neighbors.directions(capture).select(*KEY, "path")
    counted = capture.paths.rename({"near": "source"}).join(paths, on=KEY, how="inner")
    sums = counted.unique(KEY, keep="first").group_by("source", "path")
    ect0, ect1 = (
        pl.col(f"{of}_to_ce").sum() / (pl.col(f"{of}_to_ce") + pl.col(f"{of}_to_{of}")).sum()
        for of in ("ect0", "ect1")
    )
    return sums.agg(
        pl.col("ect0_to_ce").sum().cast(pl.Int64).alias("ect0_between"),
        pl.when(ect1 > 0).then(ect0 / ect1).fill_nan(None).alias("ect0_between_ratio"),
    )


@kept
def bases(capture: Capture) -> pl.DataFrame:
    """One-way delay of each direction without queue, and the one at which its marks set in.

    Packets that overtook others skipped a part of the path: where there are some, the rounds with
    the smallest RTTs decide, as ACKs of such packets give no RTT. One of them is the smallest delay
    of its round: where a tenth of the marked rounds may have one, only packets count.
    """
    late = noise.table(capture).lazy().select(*KEY, "late_packets")
    of = neighbors.directions(capture).lazy().select(*KEY, "path")
    for more in (late, queue_delay.bases(capture).lazy()):
        of = of.join(more, on=KEY, how="left", maintain_order="left")
    shortest = pl.col("base_us").min().over("source", "path")
    known = of.with_columns(
        pl.col("late_packets").fill_null(0).cast(pl.Int64),
        # A path of its own, as its RTTs show: queues that never drain hide that from the rise.
        longer=(pl.col("base_us") == pl.col("floor_us")) & (pl.col("base_us") > shortest),
    )
    overtakes = pl.col("late_packets").max().over("source", "path") >= queue_delay.OVERTAKEN
    table = known.with_columns(overtakes=overtakes).collect().rechunk()
    seen = pl.DataFrame(measured(capture).one_way(table))
    floor = table[seen["of"]].hstack(seen.drop("of"))
    smallest = pl.col("owd_floor_us").min().over("source", "path")
    rise, above = pl.col("owd_low_us") - pl.col("owd_floor_us"), pl.col("owd_floor_us") - smallest
    longer = pl.col("longer").fill_null(value=False) | (rise <= queue_delay.FLAT_SHARE * above)
    base = pl.when(longer).then("owd_floor_us").otherwise(smallest)
    return floor.select(
        *(*KEY, "overtakes", "owd_marked_us", base.alias("owd_base_us")),
        *("owd_floor_us", "owd_low_us"),
    )


_BETWEEN = {
    "source": pl.UInt16(),
    "path": pl.String(),
    "ect0_between": pl.Int64(),
    "ect0_between_ratio": pl.Float64(),
}
