"""Whether flows that begin find the queue that another one waits in.

One queue delays the first packet of a flow as long as any other that arrives at that moment. With
a queue per flow it finds none of its own flow, and fair queueing serves it next (sch_fq_codel.c:
new flows go first). So connections that are far too short to be compared show by their handshake
whether a long flow has a queue of its own.
"""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.derive import border, company
from l4strace.derive.unmarked import OWN_MARKS, Features, Verdict
from l4strace.evidence import Capture
from l4strace.wording.quantities import count

MIN_FIRST, MOST, NEARLY_NONE = 3, 0.8, 0.15
"""Slots in which a flow began, the part of them that agrees, and the part that may contradict. By
eye."""


def begun_beside(capture: Capture, rounds: pl.DataFrame, long: pl.DataFrame) -> pl.DataFrame:
    """One row for each direction of ``long`` that waited while others began, by its number `of`.

    Columns: `first_slots`, in which every packet of the direction waited beyond the noise and a
    flow of its path began; `first_met`, those in which the first packet of that flow waited as long
    as the shortest wait of the direction, and `first_passed`, those in which it waited less by more
    than the noise. `first_apart_us`: by how much the waits of the direction vary more than those.

    Waits of the direction count from its own smallest RTT, those of the others from the smallest of
    the path: neither a longer nor a shorter path then passes for a queue. ``rounds`` have the
    columns of `queue_features.rounds` and those of noise.
    """
    directions = company.directions(capture).select(
        began=pl.col("handshake") != "none",
        long=pl.int_range(pl.len(), dtype=pl.UInt32()).is_in(long["of"].implode()),
    )
    return pl.DataFrame(_native.path_begun(rounds.rechunk(), directions.rechunk(), MIN_FIRST))


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
