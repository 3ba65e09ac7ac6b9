"""How well a phase used its path: the way up to the capacity, and the time below it.

Slots in which applications or receivers limited the flows count for nothing.
"""

from __future__ import annotations

from typing import Any

from l4strace.derive.full_slots import HELD_BACK, QUEUE_US, Slot

BEGUN, FULL = 0.05, 0.8
"""Parts of the capacity between which flows grow: by eye, above control traffic, and below the
noise of slots and the 69 % that one reduction of the fallback leaves."""

LOW = 0.6
"""Part of the capacity below which a slot is wasted: by eye, below the 69 % that one reduction of
the fallback leaves (prague_classic_ecn_fallback)."""


SLOW_START_ROUNDS = 10
"""Round trips in which slow start reaches 10,000 packets (RFC 6928). Flows that never fill their
path are judged from then on, against the most that they reach."""


def of(slots: list[Slot], capacity_bps: float, shown: bool = True) -> dict[str, Any]:
    """`ramp_ns`, `low_ns` and `low_share` of a phase, as in the table `phases`.

    ``shown``: whether the path was ever busy, so that the flows filled it.
    """
    full = next((i for i, s in enumerate(slots) if s.delivered_bps >= FULL * capacity_bps), None)
    begin = full or 0
    if not shown:
        begin = min(begin, _slow_start(slots))
    after = slots[begin:-1]
    judged = [s for s in after if s.held_back < HELD_BACK]
    # Without a queue delay (at the receiver) a low slot may be a path that became slower.
    judged = [s for s in judged if s.queue_us is not None]
    low = [s for s in judged if _low(s, capacity_bps)]
    return {
        "ramp_ns": None if full is None else _ramp(slots[: full + 1], capacity_bps),
        "low_ns": sum(s.end_ns - s.start_ns for s in low),
        "low_share": len(low) / len(judged) if judged else None,
    }


def _slow_start(slots: list[Slot]) -> int:
    """Number of slots in which slow start could have filled the path."""
    rtt_us = min((s.least_us for s in slots if s.least_us is not None), default=0.0)
    end_ns = slots[0].first_ns + SLOW_START_ROUNDS * 1000 * rtt_us
    return sum(s.start_ns < end_ns for s in slots)


def _low(slot: Slot, capacity_bps: float) -> bool:
    """The path was not nearly full, and no queue stood that would show it slower than thought."""
    empty = (slot.queue_us or 0.0) < max(QUEUE_US, slot.noise_us)
    return bool(empty and slot.delivered_bps < LOW * capacity_bps)


def _ramp(slots: list[Slot], capacity_bps: float) -> int | None:
    """Time from the first data to a full path; None where something else held the flows back."""
    begun = next(i for i, s in enumerate(slots) if s.delivered_bps >= BEGUN * capacity_bps)
    grown = slots[begun:]
    whole = grown[-1].slot - grown[0].slot == len(grown) - 1
    free = all(s.held_back < HELD_BACK for s in grown[1:])
    return int(grown[-1].start_ns - grown[0].start_ns) if whole and free else None
