"""Flows over UDP that take much of a link: its capacity does not change when they begin."""

from __future__ import annotations

import polars as pl

from l4strace.evidence import Capture, kept

LEAST_SHARE = 1 / 20
"""Part of the fastest TCP direction's mean rate from which a flow over UDP counts: a queue at 95 %
of its link is no other queue than at 100 %."""


@kept
def large(capture: Capture) -> pl.DataFrame:
    """`source` and `flow` of each flow over UDP that took much beside TCP in the same capture."""
    fastest = _rates(capture.directions).group_by("source").agg(pl.col("bps").max().alias("most"))
    datagrams = _rates(capture.udp_directions).join(fastest, on="source")
    found = datagrams.filter(pl.col("bps") >= LEAST_SHARE * pl.col("most"))
    return found.select("source", "flow").unique(maintain_order=True)


def _rates(directions: pl.DataFrame) -> pl.DataFrame:
    """Mean rate of each direction while it sent."""
    seconds = (pl.col("last_ns") - pl.col("first_ns")) / 1e9
    sent = directions.filter(pl.col("payload_bytes") > 0, seconds > 0)
    return sent.select("source", "flow", bps=8 * pl.col("payload_bytes") / seconds)
