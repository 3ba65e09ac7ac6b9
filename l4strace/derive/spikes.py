"""Latency spikes: when queue delay left its usual range, how far, how long, and why."""

from __future__ import annotations

import polars as pl

from l4strace.derive import company, queue_delay
from l4strace.evidence import Capture
from l4strace.schema import TABLES
from l4strace.schema.keys import KEY, of_round

ABOVE_US, ABOVE_RATIO = 15_000.0, 2.0
"""A spike exceeds the usual delay by 15 ms (DualPI2's classic target) and by twice its height."""

MIN_LENGTH_NS = 50_000_000
"""Shorter peaks are bursts that the queue is there to absorb. By eye."""

JOIN_NS = 250_000_000
"""Peaks closer than this are one spike. By eye."""

RATE_DROP = 0.6
"""Goodput in the spike against that of the second before: below this the bottleneck got slower.
By eye."""

LOOK_BACK_NS = 1_000_000_000
"""How long before a spike its cause may lie: some round trips of any path. By eye."""

DOUBLING = 3.0
"""Growth of the flight over three rounds that only slow start makes (it would be 8). By eye."""

BURST_RATIO = 8.0
"""A burst of eight times the usual one, in a spike that nothing else explains. By eye."""


def table(capture: Capture) -> pl.DataFrame:
    """One row per spike, in the schema of `spikes`."""
    schema = TABLES["spikes"]
    rounds = queue_delay.on_paths(capture)
    if rounds.is_empty():
        return schema.empty()
    usual = pl.col("queue_delay_us").median().over(KEY)
    count = pl.len().over(KEY)
    limit = usual + pl.max_horizontal(ABOVE_RATIO * usual, pl.lit(ABOVE_US))
    rounds = rounds.filter(count >= company.MIN_ROUNDS).with_columns(
        usual.alias("usual_us"), _doubling().alias("doubling")
    )
    peaks = _joined(rounds.filter(pl.col("queue_delay_us") > limit))
    spikes = _spikes(peaks).filter(pl.col("end_ns") - pl.col("start_ns") >= MIN_LENGTH_NS)
    if spikes.is_empty():
        return schema.empty()
    explained = _with_before(spikes, rounds).join(_newcomers(spikes, capture), on=_ID, how="left")
    return schema.conform(explained.with_columns(_cause().alias("cause"))).sort(schema.key)


_ID = [*KEY, "spike"]


def _doubling() -> pl.Expr:
    flight = pl.col("inflight_max_packets")
    earlier = flight.sort_by("round").shift(3).over(KEY)
    return pl.col("slow_start").fill_null(False) | (flight >= DOUBLING * earlier).fill_null(False)


def _joined(peaks: pl.DataFrame) -> pl.DataFrame:
    """Peaks with the number of the spike that they belong to."""
    gap = pl.col("start_ns") - of_round(-1, pl.col("end_ns"))
    opens = (gap > JOIN_NS).fill_null(True)
    return peaks.sort(*KEY, "round").with_columns(
        opens.cast(pl.Int64).cum_sum().over(KEY).alias("spike")
    )


def _spikes(peaks: pl.DataFrame) -> pl.DataFrame:
    seconds = (pl.col("end_ns").max() - pl.col("start_ns").min()) / 1e9
    return peaks.group_by(_ID).agg(
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
        pl.col("queue_delay_us").max().alias("height_us"),
        pl.col("usual_us").first(),
        pl.len().cast(pl.UInt64).alias("rounds"),
        pl.col("first_frame").min(),
        pl.col("last_frame").max(),
        pl.col("path").first(),
        pl.col("retransmits").fill_null(0).sum().alias("lost"),
        pl.col("doubling").first().alias("in_slow_start"),
        pl.col("burst_bytes").max().alias("burst"),
        (pl.col("acked_bytes").sum() * 8 / seconds).alias("rate_in"),
        pl.col("round").min().alias("first_round"),
    )


def _with_before(spikes: pl.DataFrame, rounds: pl.DataFrame) -> pl.DataFrame:
    """Spikes with the goodput of the second before and the usual burst of the direction."""
    usual = rounds.group_by(KEY).agg(pl.col("burst_bytes").median().alias("usual_burst"))
    near = rounds.select(*KEY, pl.col("start_ns").alias("at"), "goodput_bps")
    before = (
        spikes.select(*_ID, "start_ns")
        .join(near, on=KEY)
        .filter(pl.col("at").is_between(pl.col("start_ns") - LOOK_BACK_NS, pl.col("start_ns") - 1))
        .group_by(_ID)
        .agg(pl.col("goodput_bps").median().alias("rate_before"))
    )
    return spikes.join(before, on=_ID, how="left").join(usual, on=KEY, how="left")


def _newcomers(spikes: pl.DataFrame, capture: Capture) -> pl.DataFrame:
    """Whether another large flow of the path began to send in the second before each spike."""
    large = pl.col("data_packets") >= company.MIN_ACKED_PACKETS
    began = (
        company.directions(capture)
        .filter(large)
        .select(
            "source", "path", pl.col("flow").alias("newcomer"), pl.col("first_ns").alias("began_ns")
        )
    )
    return (
        spikes.select(*_ID, "path", "start_ns")
        .join(began, on=["source", "path"])
        .filter(
            (pl.col("newcomer") != pl.col("flow"))
            & (pl.col("began_ns") <= pl.col("start_ns"))
            & (pl.col("began_ns") > pl.col("start_ns") - LOOK_BACK_NS)
        )
        .select(_ID)
        .unique()
        .with_columns(pl.lit(True).alias("newcomer"))
    )


def _cause() -> pl.Expr:
    """The likeliest cause, most specific first."""
    slower = pl.col("rate_in") < RATE_DROP * pl.col("rate_before")
    bursty = pl.col("burst") > BURST_RATIO * pl.col("usual_burst")
    return (
        pl.when(pl.col("in_slow_start"))
        .then(pl.lit("slow-start"))
        .when(pl.col("newcomer").fill_null(False))
        .then(pl.lit("new-flow"))
        .when(slower)
        .then(pl.lit("rate-drop"))
        .when(bursty)
        .then(pl.lit("burst"))
        .when(pl.col("lost") > 0)
        .then(pl.lit("loss"))
        .otherwise(pl.lit("unknown"))
    )
