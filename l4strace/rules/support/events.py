"""How rules word a latency spike."""

from __future__ import annotations

from typing import Any


def height(row: dict[str, Any]) -> str:
    """`queue delay reached 72 ms`; less sure where lost packets have no RTT."""
    bound = "" if row["one_way"] or not row["lost"] else "about "
    return f"queue delay reached {bound}{row['height_us'] / 1000:.0f} ms"


def others(row: dict[str, Any], named: int | None) -> str:
    """` Flows 0, 1 waited.`, or nothing where only the flow that the finding names did."""
    if (row["flows"] or 1) > 1:
        return f" Flows {row['hit']} waited."
    return "" if row["flow"] == named else f" Flow {row['flow']} waited."
