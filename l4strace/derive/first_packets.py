"""Whether flows that begin find the queue that another one waits in.

One queue delays the first packet of a flow as long as any other that arrives at that moment. With
a queue per flow it finds none of its own flow, and fair queueing serves it next (sch_fq_codel.c:
new flows go first). So connections that are far too short to be compared show by their handshake
whether a long flow has a queue of its own.
"""

from __future__ import annotations

from l4strace.derive import border
from l4strace.derive.unmarked import OWN_MARKS, Features, Verdict
from l4strace.wording.quantities import count

MIN_FIRST, MOST, NEARLY_NONE = 3, 0.8, 0.15
"""Slots in which a flow began, the part of them that agrees, and the part that may contradict. By
eye."""


def verdict(f: Features) -> Verdict | None:
    """What the first packets of flows that began meanwhile show of a flow with marks."""
    at, begun = border.at(f), count(f["first_slots"] or 0, "flow")
    if own_queue(f):
        free = f"{f['first_passed']} of {begun} that began meanwhile did not wait"
        return "per-flow", OWN_MARKS, f"{at}, while {free}: separate queues."
    if one_queue(f):
        waited = f"{f['first_met']} of {begun} that began meanwhile waited as long"
        return "classic", OWN_MARKS, f"{at}, and {waited}."
    return None


def one_queue(f: Features) -> bool:
    """Flows that begin wait as long as this one does at that time."""
    slots = f["first_slots"] or 0
    return bool(
        slots >= MIN_FIRST
        and f["first_met"] >= MOST * slots
        and f["first_passed"] <= NEARLY_NONE * slots
    )


def own_queue(f: Features) -> bool:
    """Flows that begin wait for nothing, however long this one waits.

    Were the path of those flows shorter than the smallest RTT shows, they would pass at a distance
    that stays the same.
    """
    slots = f["first_slots"] or 0
    return bool(
        slots >= MIN_FIRST
        and f["first_met"] <= NEARLY_NONE * slots
        and f["first_passed"] >= MOST * slots
        and f["first_apart_us"] > 0
    )
