"""Flows of one path go through one bottleneck: what one of them shows holds for the others.

Flows that contradict each other prove that some evidence is not what it seems, such as delay of a
flow's own path that reads as queue.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from l4strace.derive.unmarked import ALONE, NO_VERDICT, PARTLY
from l4strace.schema.words import CLASSIC_OR_PER_FLOW
from l4strace.wording.quantities import at_delay, marking_delay

Row = dict[str, Any]

UNMARKABLE = ("unmarked", "dropping", "fifo")
"""What a queue is to packets without ECN, whatever it is to others."""

WHICH = ("classic", "per-flow")
"""Kinds of which `CLASSIC_OR_PER_FLOW` is one: no contradiction."""

OPEN = ("unknown", CLASSIC_OR_PER_FLOW)
"""Verdicts that name no kind."""


def agreed(rows: list[Row]) -> list[Row]:
    """The rows with kinds that do not contradict the surest flow of their path."""
    paths: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for row in rows:
        paths[row["source"], row["path"]].append(row)
    for mates in paths.values():
        _refute(mates)
        # A flow that gets no mark shows nothing of a queue that marks others.
        marked = [row for row in mates if _shows(row) and row["confidence"] >= ALONE]
        if not marked:
            continue
        shared = [row for row in marked if row["kind"] in WHICH]
        for row in marked:
            if row["kind"] == CLASSIC_OR_PER_FLOW and shared:
                _take(row, max(shared, key=_confidence))
        surest = max(marked, key=_confidence)
        for row in mates:
            # Weak evidence is more than none, but not more than other evidence.
            if row["kind"] == "unknown" or surest["confidence"] >= PARTLY:
                _follow(row, surest)
    return rows


def leaves_open(row: Row) -> bool:
    """Its evidence fits no kind, two, or one of them only partly."""
    return row["kind"] in OPEN or row["confidence"] <= PARTLY


def within(row: Row, of_phases: list[Row]) -> Row:
    """``row`` with the kind of the phase with most marks that shows one, if the whole hardly does.

    ``of_phases``: what each phase of the path shows of the same flow. One that stays the same has
    one kind of bottleneck; over all of them queues of two kinds, or at two rates, mix.
    """
    if not leaves_open(row):
        return row
    shown = [phase for phase in of_phases if phase["kind"] != "unknown" and _marked(phase)]
    if row["kind"] == CLASSIC_OR_PER_FLOW:
        shown = [phase for phase in shown if phase["kind"] in WHICH]
    # Which of two kinds it is, a phase with fewer marks may show.
    shown.sort(key=lambda phase: bool(phase["kind"] == CLASSIC_OR_PER_FLOW))
    if not shown:
        return row
    return row | {
        "kind": shown[0]["kind"],
        "confidence": min(PARTLY, float(shown[0]["confidence"])),
        "reason": f"{shown[0]['reason']} This is so in one phase of the path.",
        "marking_delay_us": shown[0]["marking_delay_us"],
    }


def _marked(row: Row) -> bool:
    return bool(row.get("all_marks", row["marks"]))


def _shows(row: Row) -> bool:
    """Marks stand behind the verdict: later ones, or those while the flow started."""
    return bool(row["marks"] or (row.get("all_marks") and row["kind"] == "l4s"))


def _refute(mates: list[Row]) -> None:
    """A queue that marks some flows of a path is none without ECN to others that it may mark."""
    if not any(map(_marked, mates)):
        return
    for row in mates:
        if row["kind"] in UNMARKABLE and not _not_markable(row):
            row |= _unknown(
                "Cannot be determined: other traffic of the path is marked, this flow is not."
            )


def _confidence(row: Row) -> float:
    return float(row["confidence"])


def _follow(row: Row, surest: Row) -> None:
    """``row`` takes the kind of the surest flow where its own evidence is weaker or contradicts."""
    kind = surest["kind"]
    if row["kind"] in (kind, "none") or _not_markable(row):
        return
    if kind == CLASSIC_OR_PER_FLOW and row["kind"] in WHICH:
        return
    unmarked = row["kind"] in UNMARKABLE and not row["marks"]
    if row["kind"] != "unknown" and not unmarked and row["confidence"] >= surest["confidence"]:
        row |= _unknown("Cannot be determined: the flows of the path contradict each other.")
        return
    _take(row, surest)


def _take(row: Row, surest: Row) -> None:
    known = surest["marking_delay_us"] is not None
    seen = f" (marks begin {at_delay(marking_delay(surest))} there)" if known else ""
    verb = "shows" if surest["confidence"] >= PARTLY else "suggests"
    row |= {
        "kind": surest["kind"],
        "confidence": min(PARTLY, float(surest["confidence"])),
        "reason": f"Another flow of the path {verb} it{seen}.",
    }


def _not_markable(row: Row) -> bool:
    return bool(row["marked_as"] == "not_ect" and row["kind"] in UNMARKABLE)


def _unknown(reason: str) -> Row:
    return {"kind": "unknown", "confidence": NO_VERDICT, "reason": reason}
