"""Rows of a sweep's `delays` from the evidence of one run: how queue delay is distributed."""

from __future__ import annotations

import polars as pl

from l4strace.derive import neighbors, queue_delay, vantage
from l4strace.evidence import Evidence
from l4strace.schema.keys import KEY
from l4strace.schema.sweep import SWEEP_DELAYS

SHARES = (0.0, 0.01, 0.05, *(step / 20 for step in range(2, 19)), 0.95, 0.99, 0.999, 1.0)
"""Where a distribution is kept: 24 points a class hold a curve of a paper."""


def table(evidence: Evidence, run: str) -> pl.DataFrame:
    """The rows of both classes, each from the captures nearest to its senders."""
    near = vantage.once(evidence, neighbors.directions(evidence))
    classes = near.select(*KEY, l4s=pl.col("marked_as") == "ect1")
    rounds = vantage.once(evidence, queue_delay.rounds(evidence)).filter(
        pl.col("queue_delay_us").is_not_null() & (pl.col("acked_packets") > 0)
    )
    weighed = rounds.join(classes, on=KEY).select("l4s", "queue_delay_us", "acked_packets")
    parts = [
        _points(part).with_columns(l4s=pl.lit(l4s)) for (l4s,), part in weighed.group_by("l4s")
    ]
    if not parts:
        return SWEEP_DELAYS.empty()
    rows = pl.concat(parts).with_columns(run=pl.lit(run))
    return SWEEP_DELAYS.conform(rows).sort("l4s", "share")


def _points(rounds: pl.DataFrame) -> pl.DataFrame:
    """Delays that these shares of the acknowledged packets do not exceed."""
    ordered = rounds.sort("queue_delay_us")
    until = ordered["acked_packets"].cast(pl.Float64).cum_sum()
    wanted = pl.Series(SHARES) * until[-1]
    # A sum of all may lie a rounding above the last of the sums.
    at = until.search_sorted(wanted, side="left").clip(0, ordered.height - 1)
    return pl.DataFrame({"share": SHARES, "queue_delay_us": ordered["queue_delay_us"].gather(at)})
