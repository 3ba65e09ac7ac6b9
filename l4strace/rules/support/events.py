"""How rules word a latency spike."""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.wording.quantities import listed

LONG_US = 1e6


def height(evidence: Evidence, row: dict[str, Any], named: int | None) -> str:
    """`queue delay reached 72 ms`; less sure where lost packets have no RTT.

    Where the snaplen cut off SACK, no packet behind a lost one has an RTT either until the hole is
    filled: the delay is at least that of the packets before. With its flow, where the finding names
    another: the two may wait in queues of their own.
    """
    bound = ""
    if row["lost"] and not row["one_way"]:
        bound = "at least " if _without_sack(evidence, row) else "about "
    whose = "" if row["flow"] == named else f" of flow {row['flow']}"
    us = row["height_us"]
    size = f"{us / 1e6:.2f} s" if us >= LONG_US else f"{us / 1000:.0f} ms"
    return f"queue delay{whose} reached {bound}{size}"


def _without_sack(evidence: Evidence, row: dict[str, Any]) -> bool:
    """Whether the ACKs, which are the flow's other direction, have options that were cut off."""
    acks = evidence.directions.filter(
        (pl.col("source") == row["source"])
        & (pl.col("flow") == row["flow"])
        & (pl.col("forward") != row["forward"])
    )
    return bool((acks["options_cut"].fill_null(0) > 0).any())


def others(row: dict[str, Any], named: int | None) -> str:
    """` Flows 0 and 1 waited.`, or nothing where only the flow that the finding names did."""
    if (row["flows"] or 1) > 1:
        return f" Flows {listed(row['hit'].split(', '))} waited."
    return "" if row["flow"] == named else f" Flow {row['flow']} waited."
