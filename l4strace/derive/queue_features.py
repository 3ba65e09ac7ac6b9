"""What identifies the bottleneck: marks, delays, rates and neighbours of each flow direction.

Packets only: nothing here reads `capture.kernel`.
"""

from __future__ import annotations

import polars as pl

from l4strace.derive import company
from l4strace.evidence import Capture
from l4strace.schema.keys import KEY

LOW, HIGH = 0.1, 0.9
"""Quantiles in place of smallest and largest, which one odd round decides. By eye."""


def table(rounds: pl.DataFrame, capture: Capture) -> pl.DataFrame:
    """Everything that the verdict looks at, one row a direction with enough steady rounds."""
    queue, marked = pl.col("queue_delay_us"), pl.col("marks") > 0
    own = (
        rounds.group_by(KEY)
        .agg(
            pl.len().alias("rounds"),
            pl.col("acked_packets").sum().alias("acked"),
            queue.median().alias("queue_delay_us"),
            queue.quantile(HIGH).alias("queue_high_us"),
            queue.filter(marked).quantile(LOW).alias("marking_delay_us"),
            pl.col("marks").sum().alias("marks"),
            pl.col("marks").filter(marked).mean().alias("marks_per_round"),
            pl.col("acked_packets").filter(marked).mean().alias("acked_per_marked_round"),
            pl.col("ece_acks").is_not_null().any().alias("classic_feedback"),
            pl.col("retransmits").fill_null(0).sum().alias("lost"),
            pl.col("limited_by").is_in(["app", "rwnd"]).mean().alias("self_limited"),
        )
        .filter(
            (pl.col("rounds") >= company.MIN_ROUNDS)
            & (pl.col("acked") >= company.MIN_ACKED_PACKETS)
        )
    )
    near = rounds.join(own.select(KEY), on=KEY, how="semi")
    return (
        own.join(_carried(capture), on=KEY, how="left")
        .join(_rates(rounds), on=["source", "path"], how="left")
        .join(company.neighbours(near), on=KEY, how="left")
        .sort(KEY)
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
    return company.directions(capture).select(
        *KEY,
        "path",
        "marked_as",
        erased.alias("erased"),
        deaf.fill_null(False).alias("deaf"),
        pl.col("retransmits").alias("losses"),
    )


def _rates(rounds: pl.DataFrame) -> pl.DataFrame:
    """Rate of each path: 90th percentile of the bits that all its flows got through a second."""
    second = (pl.col("start_ns") // 1_000_000_000).alias("second")
    per_second = rounds.group_by("source", "path", second).agg(
        (pl.col("acked_bytes").sum() * 8).cast(pl.Float64).alias("bits")
    )
    return per_second.group_by("source", "path").agg(
        pl.col("bits").quantile(HIGH).alias("rate_bps")
    )
