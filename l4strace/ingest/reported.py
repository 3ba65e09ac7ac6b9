"""Flows over UDP whose receivers report in clear, placed where those of TCP are.

Their rounds hold what acknowledgments of TCP give: what follows of the one follows of the other.
A capture that reads no reports of such a flow keeps what it sent, so that its link counts it.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from l4strace.evidence import Capture, in_order
from l4strace.schema.keys import KEY


def measured(capture: Capture) -> Capture:
    """``capture`` with the flows whose feedback is read in `flows`, `directions` and `rounds`."""
    if capture.udp_flows.is_empty():
        return capture
    ours = pl.col("flow").is_in(_read(capture.udp_directions).implode())
    flows = pl.concat([capture.flows, capture.udp_flows.filter(ours)])
    directions = pl.concat([capture.directions, capture.udp_directions.filter(ours)])
    unread = capture.udp_flows.filter(~ours)
    rounds = capture.rounds.filter(~pl.col("flow").is_in(unread["flow"].implode()))
    sent = capture.udp_directions.filter(~ours | (pl.col("data_packets") > 0))
    without = sent.join(rounds, on=KEY, how="anti")
    return replace(
        capture,
        flows=flows.sort("source", "flow", maintain_order=True),
        directions=in_order(directions),
        rounds=rounds,
        udp_flows=unread,
        udp_directions=capture.udp_directions.filter(~ours),
        udp_rounds=capture.udp_rounds.join(without, on=KEY, how="semi", maintain_order="left"),
    )


def _read(directions: pl.DataFrame) -> pl.Series:
    """Flows of which some capture reads reports on each direction that carries data."""
    ways = directions.group_by("flow", "forward").agg(
        read=(pl.col("reported_packets") > 0).any(), data=(pl.col("data_packets") > 0).any()
    )
    silent = ways.filter("data", ~pl.col("read"))
    return ways.filter("read").join(silent, on="flow", how="anti")["flow"].unique()
