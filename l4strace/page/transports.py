"""The tables that charts read, with all transports in them.

A receiver over UDP that reports in clear tells round trips, in which the columns of `rounds` mean
what they mean for TCP. Of the others only what was sent is known, over slots of time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from l4strace.evidence import kept, traffic
from l4strace.schema import TABLES
from l4strace.schema.keys import KEY

if TYPE_CHECKING:
    from l4strace.evidence import Evidence


@kept
def drawn(evidence: Evidence) -> Evidence:
    """``evidence`` with UDP in `flows`, `directions` and `rounds`.

    There `acked_bytes` is what the receiver reported; where it reports nothing, what was sent.
    """
    if evidence.udp_flows.is_empty():
        return evidence
    told = evidence.udp_round_trips
    silent = evidence.udp_rounds.join(told, on=KEY, how="anti")
    rounds = [TABLES["rounds"].conform(table) for table in (_reported(told), _sent(silent))]
    everything = traffic(evidence)
    return replace(everything, rounds=pl.concat([evidence.rounds, *rounds]), kernel=evidence.kernel)


def _reported(told: pl.DataFrame) -> pl.DataFrame:
    """Round trips in the columns of `rounds`; a packet reported as lost stands for its repeat."""
    ce = dict.fromkeys(("ce_lo", "ce_hi", "ce_best"), "reported_ce")
    names = {"acked_bytes": "reported_bytes", "acked_packets": "reported_packets"}
    return told.with_columns(
        cwnd_packets="window_packets",
        retransmits="reported_lost",
        **{name: pl.col(column) for name, column in (ce | names).items()},
    )


def _sent(slots: pl.DataFrame) -> pl.DataFrame:
    """Slots in which the sender sent, as if all of it had arrived."""
    seconds = (pl.col("end_ns") - pl.col("start_ns")) / 1e9
    return slots.with_columns(
        acked_bytes="sent_bytes",
        acked_packets="sent_packets",
        goodput_bps=8 * pl.col("sent_bytes") / seconds,
        retransmits=pl.lit(0),
        round_trips=pl.lit(1),
    )
