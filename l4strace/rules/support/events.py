"""How rules word a latency spike."""

from __future__ import annotations

from typing import Any

from l4strace.wording.quantities import listed

LONG_US = 1e6


def height(row: dict[str, Any], named: int | None) -> str:
    """`queue delay reached 72 ms`; less sure where lost packets have no RTT.

    With its flow, where the finding names another: the two may wait in queues of their own.
    """
    bound = "" if row["one_way"] or not row["lost"] else "about "
    whose = "" if row["flow"] == named else f" of flow {row['flow']}"
    us = row["height_us"]
    size = f"{us / 1e6:.2f} s" if us >= LONG_US else f"{us / 1000:.0f} ms"
    return f"queue delay{whose} reached {bound}{size}"


def others(row: dict[str, Any], named: int | None) -> str:
    """` Flows 0 and 1 waited.`, or nothing where only the flow that the finding names did."""
    if (row["flows"] or 1) > 1:
        return f" Flows {listed(row['hit'].split(', '))} waited."
    return "" if row["flow"] == named else f" Flow {row['flow']} waited."
