"""A path that delivers less than before although it is full became slower, whoever backs off then.

A queue that grows shows it, and so do losses that go on and on. No sender does both: one that sends
more fills the path, one that backs off empties its queue.
"""

from __future__ import annotations

from l4strace.derive.full_slots import (
    FELL,
    FELL_TRAINS,
    HELD_BACK,
    LASTING,
    QUEUE_US,
    ROSE,
    Slot,
    packet_us,
    used,
    whole,
)

SEEN, SURGE = 3, 3
"""Slots that show what was delivered before, and those after it that may show a surge. By eye."""

FLOOD = 0.5
"""Part of the packets that are marked while an L4S queue takes in what a fall leaves. By eye: more
than the marks of a sender that keeps up with the path."""

REPAIRED = 0.25
"""Part of the packets that were lost, from which their repair takes rounds so long that slots
inside one show no rate of their own. By eye."""

OVERFLOWS = 0.25
"""Losses per packet delivered that a full path makes of senders that do not heed them, slot after
slot: a repair is over before, and the noise of a path loses less. By eye, from BBR in lab runs."""


def surged(past: list[Slot], around: list[Slot]) -> float | None:
    """What the path delivers of late, if it is full and that is less than before."""
    if len(past) < SEEN:
        return None
    before, after = used(past), around[1:]
    first = [s for s in after[:SURGE] if s.held_back < HELD_BACK and not _repairs(s)]
    # What a whole round in the queue delivers is exact; a slot may hold the end of the queue.
    rates = [float(s.full_bps) for s in first if s.full_bps]
    if rates and min(rates) <= before / ROSE:
        return min(rates)
    shown = [s for s in first if _grew(past, s, before)]
    if all(slot.lost >= OVERFLOWS * slot.acked for slot in after):
        shown = after
    below = 1 / ROSE if whole(shown) else FELL
    rates = [float(slot.delivered_bps) for slot in shown]
    return min(rates) if rates and max(rates) <= below * before else None


def _repairs(slot: Slot) -> bool:
    return bool(slot.lost > REPAIRED * slot.acked)


def _grew(past: list[Slot], slot: Slot, before: float) -> bool:
    """The queue of ``slot`` is longer than any of late."""
    stood, peak = (
        max(getattr(s, waited) or 0.0 for s in past[-LASTING:])
        for waited in ("queue_us", "peak_us")
    )
    grown = (slot.queue_us or 0.0) - stood
    if _flooded(slot, before):
        grown = max(grown, (slot.peak_us or 0.0) - peak)
    return bool(grown >= max(QUEUE_US, 2 * packet_us(slot), slot.noise_us))


def _flooded(slot: Slot, before: float) -> bool:
    """Most packets of the slot were marked, and their trains were slower than what went before.

    The queue of a slot that a sender floods by itself drains as fast as ever.
    """
    slower = 0.0 < (slot.train_bps or 0.0) <= FELL_TRAINS * before
    return bool(slower and slot.marks >= FLOOD * slot.acked)
