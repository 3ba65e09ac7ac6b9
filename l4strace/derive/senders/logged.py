"""Reductions of a sender's window that its own log shows, and what marks and losses explain.

For senders in user space: their packets do not show the window, and kernel logs have `cuts`.
"""

from __future__ import annotations

import polars as pl

from l4strace.evidence import Capture, kept
from l4strace.prague.constants import FRAC_CWND_UNIT, GAIN_SHIFT, TARGET_RTT_US
from l4strace.schema.keys import KEY

ROUNDS_BACK, ROUNDS_AHEAD = 2, 1
"""Round trips before and after a reduction in which marks or losses explain it: those of a round
act at its end, and a log may state them behind the window."""


@kept
def reductions(capture: Capture) -> pl.DataFrame:
    """One row per reduction: KEY, `ts_ns`, `packets`, `fraction`, `cause`, `half_alpha`.

    `packets` is the window before it; `cause` is `loss`, `ce` or null where the log shows neither.
    `half_alpha` is the most that any law of alpha/2 asks for: alpha from 1.
    """
    samples = _windows(capture.udp_kernel)
    falls = samples.filter(pl.col("window") < pl.col("packets")).with_columns(
        fraction=1 - pl.col("window") / pl.col("packets"),
        back_ns=pl.col("ts_ns") - ROUNDS_BACK * pl.col("rtt_ns"),
        ahead_ns=pl.col("ts_ns") + ROUNDS_AHEAD * pl.col("rtt_ns"),
    )
    counters = samples.select(*KEY, "ts_ns", "ce", "lost")
    for edge in ("back", "ahead"):
        names = {name: f"{name}_{edge}" for name in ("ce", "lost")} | {"ts_ns": f"{edge}_ns"}
        falls = falls.sort(f"{edge}_ns").join_asof(
            counters.rename(names), on=f"{edge}_ns", by=list(KEY), check_sortedness=False
        )
    grew = {
        name: pl.col(f"{name}_ahead") > pl.col(f"{name}_back").fill_null(0)
        for name in ("ce", "lost")
    }
    cause = pl.when(grew["lost"]).then(pl.lit("loss")).when(grew["ce"]).then(pl.lit("ce"))
    alphas = _alphas(samples)
    return (
        falls.with_columns(cause=cause)
        .sort("ts_ns")
        .join_asof(alphas, on="ts_ns", by=list(KEY), check_sortedness=False)
        .select(*KEY, "ts_ns", "packets", "fraction", "cause", "half_alpha")
        .sort(*KEY, "ts_ns")
    )


def _windows(kernel: pl.DataFrame) -> pl.DataFrame:
    """Samples by time: `window` and that before it (`packets`), `ce`, `lost` and `rtt_ns` so far.

    Only logs that state the window in bytes and count marks: whole packets hide small reductions.
    """
    window = pl.col("frac_cwnd") / FRAC_CWND_UNIT
    # A message on alpha may be written before the new window, and timed after it.
    known = kernel.filter(
        pl.col("flow").is_not_null(), pl.col("frac_cwnd") > 0, pl.col("event") == "poll"
    )
    counted = known.select(
        *KEY,
        "ts_ns",
        "delivered",
        window=window,
        packets=window.shift().over(KEY),
        ce=pl.col("delivered_ce"),
        lost=pl.col("lost_packets").fill_null(0),
        rtt_ns=(pl.col("srtt_us") * 1000).cast(pl.Int64),
    )
    return counted.drop_nulls(["ce", "packets", "rtt_ns"]).sort("ts_ns", maintain_order=True)


def _alphas(samples: pl.DataFrame) -> pl.DataFrame:
    """`half_alpha` at the end of each period of a round trip, or of 25 ms where that is longer."""
    length = pl.max_horizontal(pl.col("rtt_ns").median().over(KEY), TARGET_RTT_US * 1000)
    period = ((pl.col("ts_ns") - pl.col("ts_ns").first().over(KEY)) / length).floor()
    ends = (
        samples.with_columns(period=period)
        .group_by(*KEY, "period", maintain_order=True)
        .agg(pl.col("ts_ns").first(), pl.col("ce", "delivered").max())
    )
    grown = {name: pl.col(name).cast(pl.Int64).diff().over(KEY) for name in ("ce", "delivered")}
    share = (grown["ce"] / grown["delivered"]).fill_nan(None).clip(0, 1).fill_null(1.0)
    smoothed = share.ewm_mean(alpha=0.5**GAIN_SHIFT, adjust=False).over(KEY)
    return ends.select(*KEY, "ts_ns", half_alpha=smoothed / 2)
