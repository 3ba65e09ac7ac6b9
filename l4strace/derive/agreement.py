"""Flows of one path go through one bottleneck: what one of them shows holds for the others.

Flows that contradict each other prove that some evidence is not what it seems, such as delay of a
flow's own path that reads as queue.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from l4strace.derive.unmarked import ALONE, NO_VERDICT, PARTLY
from l4strace.wording.quantities import marking_delay

Row = dict[str, Any]

UNMARKABLE = ("unmarked", "dropping", "fifo")
"""What a queue is to packets without ECN, whatever it is to others."""


def agreed(rows: list[Row]) -> list[Row]:
    """The rows with kinds that do not contradict the surest flow of their path."""
    paths: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for row in rows:
        paths[row["source"], row["path"]].append(row)
    for mates in paths.values():
        surest = max(mates, key=lambda row: float(row["confidence"]))
        if surest["confidence"] >= ALONE and surest["marks"]:
            for row in mates:
                # Weak evidence is more than none, but not more than other evidence.
                if row["kind"] == "unknown" or surest["confidence"] >= PARTLY:
                    _follow(row, surest)
    return rows


def _follow(row: Row, surest: Row) -> None:
    """``row`` takes the kind of the surest flow where its own evidence is weaker or contradicts."""
    kind = surest["kind"]
    if row["kind"] in (kind, "none") or _not_markable(row):
        return
    if row["kind"] != "unknown" and row["confidence"] >= surest["confidence"]:
        row |= _unknown("Cannot be determined: the flows of the path contradict each other.")
        return
    known = surest["marking_delay_us"] is not None
    seen = f" (marks begin at {marking_delay(surest)} there)" if known else ""
    verb = "shows" if surest["confidence"] >= PARTLY else "suggests"
    row |= {
        "kind": kind,
        "confidence": min(PARTLY, float(surest["confidence"])),
        "reason": f"Another flow of the path {verb} it{seen}.",
    }


def _not_markable(row: Row) -> bool:
    return bool(row["marked_as"] == "not_ect" and row["kind"] in UNMARKABLE)


def _unknown(reason: str) -> Row:
    return {"kind": "unknown", "confidence": NO_VERDICT, "reason": reason}
