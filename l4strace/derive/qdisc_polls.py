"""What the polls of each qdisc show, beside what the packets show at the same moments."""

from __future__ import annotations

import polars as pl

from l4strace.derive.measured import measured
from l4strace.evidence import Capture
from l4strace.schema.keys import KEY

QDISC = ("source", "interface", "kind", "handle")
"""What identifies a qdisc of a log."""


def summary(capture: Capture) -> pl.DataFrame:
    """One row per qdisc that sent something while it was polled.

    ``polls``, ``sent``, ``drops``, ``marks`` (packets; null where tc shows none), ``delay_us`` and
    ``most_us`` (median and maximum of the backlog at the rate of the interval), ``delay_l_us`` and
    ``delay_c_us`` (medians, DualPI2 only), ``packets_us`` (median of the queue delay that the
    packets show in the round trips of the polls; null without).
    """
    polls = capture.qdiscs.sort("ts_ns")
    marks = pl.sum_horizontal("marks", "step_marks", ignore_nulls=True)
    known = pl.any_horizontal(pl.col("marks", "step_marks").is_not_null())
    return (
        polls.with_columns(
            marked=pl.when(known).then(marks), packets_us=_beside(capture, polls["ts_ns"])
        )
        .group_by(QDISC, maintain_order=True)
        .agg(
            pl.len().alias("polls"),
            _grown("sent_packets").alias("sent"),
            _grown("drops").alias("drops"),
            _grown("marked").alias("marks"),
            pl.col("delay_us").median(),
            pl.col("delay_us").max().alias("most_us"),
            pl.col("delay_l_us", "delay_c_us").median(),
            pl.col("packets_us").median(),
        )
        .filter(pl.col("sent") > 0)
    )


def _grown(name: str) -> pl.Expr:
    """Growth of a counter; a qdisc that was replaced counts from 0 again."""
    steps = pl.col(name).cast(pl.Int64).diff()
    return pl.when(pl.col(name).count() > 1).then(steps.clip(lower_bound=0).sum())


def _beside(capture: Capture, times: pl.Series) -> pl.Series:
    """Queue delay (us) of the direction with the most data in the round trip of each moment."""
    largest = capture.directions.sort("payload_bytes", descending=True)
    moments = times.to_frame("ts_ns").join(largest.select(pl.col(KEY).first()), how="cross")
    begun = pl.DataFrame(measured(capture).begun(moments.rechunk()))
    return begun.select(pl.when(times <= pl.col("end_ns")).then("queue_delay_us")).to_series()
