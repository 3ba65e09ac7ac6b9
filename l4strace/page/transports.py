"""The tables that charts read, with all transports in them.

Of flows over UDP without feedback in clear only what was sent is known, over slots of time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from l4strace.evidence import kept, traffic
from l4strace.schema import TABLES

if TYPE_CHECKING:
    from l4strace.evidence import Evidence


@kept
def drawn(evidence: Evidence) -> Evidence:
    """``evidence`` with UDP in `flows`, `directions` and `rounds`.

    There `acked_bytes` is what the receiver reported; where no report is read, what was sent.
    """
    if evidence.udp_flows.is_empty() and evidence.udp_rounds.is_empty():
        return evidence
    sent = TABLES["rounds"].conform(_sent(evidence.udp_rounds))
    everything = traffic(evidence)
    return replace(
        everything,
        rounds=pl.concat([evidence.rounds, sent]),
        kernel=evidence.kernel,
        udp_kernel=evidence.udp_kernel,
        udp_rounds=evidence.udp_rounds.clear(),
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
