"""When a path stopped to mark although its queue stood or overflowed, and when its base RTT moved.

A gap between marks means nothing by itself: an empty queue is not marked. It is a change when it
lasts five times longer than nearly all others, and packets are lost as they were not before, or
the queue stands twice as high as where marks used to come.

Lists of slots are those of one path.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from l4strace.derive.capacity import quantile
from l4strace.derive.changes import Change
from l4strace.derive.full_slots import QUEUE_US, Slot

MIN_MARKED = 5
"""Slots with marks from which their absence has a meaning. By eye."""

MIN_GAP_NS, GAP_RATIO = 2_000_000_000, 5
"""Length of a gap: two of the longest cycles that marks come in at 200 ms of RTT, and five times
what nine of ten gaps of the path last. By eye."""

MIN_LOST, LOST_RATIO = 3, 3.0
"""Losses of a gap, and their rate against that outside it: random loss goes on as before."""

QUEUE_RATIO = 2.0
"""Queue of a gap against that of marked slots. By eye."""

WINDOW = 10
"""Slots before and after a step of the base RTT (a second or 20 rounds)."""

WINDOW_TRIPS = 4
"""Round trips that they must last, too: a longer one gives its delay to all its slots. By eye."""

STEP_US, STEP_PART = 2000.0, 0.1
"""Smallest step: 2 ms and a tenth of the base RTT. By eye."""

STEP_SPREAD = 0.25
"""Largest spread of the floor on each side, in parts of the step: a queue moves more."""


def marking_changes(slots: list[Slot]) -> Iterator[Change]:
    """Starts and ends of the gaps in which the path should have marked."""
    marked = [i for i, slot in enumerate(slots) if slot.marks > 0]
    if len(marked) < MIN_MARKED:
        return
    gaps = list(pairwise([-1, *marked, len(slots)]))
    usual = quantile([b - a for a, b in gaps], 0.9)
    for before, after in gaps:
        inside = slots[before + 1 : after]
        if not inside or len(inside) < GAP_RATIO * usual:
            continue
        if inside[-1].end_ns - inside[0].start_ns < MIN_GAP_NS:
            continue
        if not _silent(inside, slots[: before + 1] + slots[after:]):
            continue
        if before >= 0:
            yield Change(before + 1, inside[0].start_ns, "marking")
        if after < len(slots):
            yield Change(after, slots[after].start_ns, "marking")


def _silent(inside: list[Slot], outside: list[Slot]) -> bool:
    """The path lost packets, or held a queue, where it used to mark."""
    lost, acked = (sum(getattr(s, c) for s in inside) for c in ("lost", "acked"))
    lost_out, acked_out = (sum(getattr(s, c) for s in outside) for c in ("lost", "acked"))
    if lost >= MIN_LOST and lost * acked_out > LOST_RATIO * lost_out * acked:
        return True
    stood = quantile([s.queue_us for s in inside if s.queue_us is not None], 0.5)
    marked = [s.queue_us for s in outside if s.marks > 0 and s.queue_us is not None]
    return bool(marked) and stood >= max(QUEUE_US, QUEUE_RATIO * quantile(marked, 0.8))


def base_rtt_changes(slots: list[Slot]) -> Iterator[Change]:
    """Steps of the smallest RTT that hold on both sides, as a route change makes them.

    The rate may not move with it: a window that fills a queue raises the RTT as evenly.
    """
    floors = [slot.floor_us or 0.0 for slot in slots]
    known, base_us = _known(slots), slots[0].base_us or 0.0
    index = WINDOW
    while index + WINDOW < len(slots):
        if known[index - 1] >= WINDOW and known[index + WINDOW] >= WINDOW:
            before, after = floors[index - WINDOW : index], floors[index + 1 : index + 1 + WINDOW]
            stepped = _stepped(before, after, base_us)
            if stepped and _lasts(slots[index], base_us + max(*before, *after)):
                yield Change(index + 1, slots[index].start_ns, "base RTT")
                index += WINDOW
        index += 1


def _lasts(slot: Slot, trip_us: float) -> bool:
    """The window holds round trips enough of the longer side."""
    width_us = (slot.end_ns - slot.start_ns) / 1000
    return bool(WINDOW * width_us >= WINDOW_TRIPS * trip_us)


def _known(slots: list[Slot]) -> list[int]:
    """How many slots in a row, up to each one, show a floor that no mark disturbs."""
    lengths, length = [], 0
    for slot in slots:
        length = length + 1 if slot.floor_us is not None and slot.marks == 0 else 0
        lengths.append(length)
    return lengths


def _stepped(before: list[float], after: list[float], base_us: float) -> bool:
    low, high = sorted((before, after), key=sum)
    step = min(high) - max(low)
    spread = max(max(side) - min(side) for side in (low, high))
    return step >= max(STEP_US, STEP_PART * base_us) and spread <= STEP_SPREAD * step
