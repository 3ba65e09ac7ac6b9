"""What logs of user-space senders say in sum: one row for each log and flow direction."""

from __future__ import annotations

import polars as pl

from l4strace.evidence import Capture, kept
from l4strace.schema.keys import KEY
from l4strace.schema.words import SENDER_LOGS

COUNTERS = ("delivered", "delivered_ect1", "delivered_ect0", "delivered_ce", "lost_packets")


@kept
def summary(capture: Capture) -> pl.DataFrame:
    """`source`, `path`, `flow`, `forward`; `cc`, `samples`; medians `window`, `rtt_us`; `least_us`;
    the counters as they end, `alpha` and `ecn_state` with `ecn_trigger` at last.

    Null for what the log does not have.
    """
    logs = capture.sources.lazy().filter(pl.col("kind").is_in(SENDER_LOGS)).select("source", "path")
    samples = pl.concat([capture.kernel, capture.udp_kernel]).lazy().join(logs, on="source")
    rtt = pl.coalesce("srtt_us", pl.col("rs_rtt_us").cast(pl.Float64))
    known = samples.filter(pl.col("flow").is_not_null()).sort("ts_ns", maintain_order=True)
    return (
        known.group_by(KEY, maintain_order=True)
        .agg(
            pl.col("path").first(),
            pl.col("cc").drop_nulls().last(),
            pl.len().alias("samples"),
            pl.col("snd_cwnd").median().alias("window"),
            rtt.median().alias("rtt_us"),
            pl.coalesce(pl.col("min_rtt_us").min().cast(pl.Float64), rtt.min()).alias("least_us"),
            *(pl.col(name).max() for name in COUNTERS),
            pl.col("alpha").drop_nulls().last(),
            pl.col("ecn_state").drop_nulls().last(),
            pl.col("ecn_trigger").filter(pl.col("ecn_state").is_not_null()).last(),
        )
        .sort("flow", "source", "forward", descending=[False, False, True])
        .collect()
    )
