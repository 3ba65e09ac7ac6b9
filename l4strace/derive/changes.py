"""When the capacity, the marking or the base RTT of one path changed, from its slots.

A capacity is shown by slots that were *busy*: marks were fed back, or even the fastest packet
waited 2 ms or 1.5 packets. It fell when busy slots deliver, and packet trains reach, clearly less
for half a second or more after the queue that a full flight leaves at a lower rate; it rose when
slots deliver more, which no path does beyond its capacity. A sender that backs off empties the
queue, so its low slots are not busy. It also fell when less is delivered while the queue grows,
however soon the senders back off. Measured on 550 emulated runs: 111 of 115 falls to 0.6 of the
capacity or less are found, and no change in the 404 runs without one.

Lists of slots are those of one path.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, islice, takewhile
from typing import NamedTuple

from l4strace.derive.capacity import quantile
from l4strace.derive.full_slots import (
    BUSY_PART,
    FELL,
    FELL_TRAINS,
    FRAME_BITS,
    LASTING,
    QUEUE_US,
    RECENT,
    ROSE,
    TRANSIENT,
    Slot,
    gapless,
    queued,
    used,
    waits,
    whole,
)
from l4strace.derive.surges import surged

SETTLED_NS = 1_000_000_000
"""A level that lasts less is the way from one level to the next. By eye."""

START_NS = 2_000_000_000
"""A first level that lasts less before a rise is slow start and what follows it. By eye."""

DROPPED = 0.75
"""Part of what a fall leaves in flight that must be seen to wait or to be lost while losses hide
the trains: a sender that hears of them sends less meanwhile. By eye."""

STANDING_PART = 0.6
"""The same with a standing queue, where no full path was seen before: such slots deliver what the
path carries, while marks alone also come to flows that back off."""

FLAT, FLAT_BEFORE_RISE = 0.4, 0.25
"""Largest spread (quantiles 0.2 to 0.8) of busy slots, in parts of their median, that show a
capacity: a ramp spreads wider. By eye; before a rise less, as slow start rises too."""

GAPLESS_PART = 0.8
"""Part of the slots of a new lower level that must be busy or leave no gap: more than of busy ones,
as trains that jitter spreads agree with the rate by chance. By eye."""

NEAR, INFINITE = 0.9, float("inf")
"""A level moves by less than a tenth within LASTING slots: only near it is it measured anew."""

ABOVE = 1.1
"""A slot above the old capacity by its noise. By eye."""


class Change(NamedTuple):
    """The slot that begins a phase, the time (ns), and what changed as in `phases.changed`."""

    first: int
    at_ns: int
    what: str
    shown_bps: float | None = None
    """Capacity that its first slots show."""


def shown(slots: list[Slot]) -> float | None:
    """Capacity that the busy ones of ``slots`` show; None where they show none."""
    return _level([s.delivered_bps for s in slots if s.busy][-RECENT:], FLAT)


def _level(busy: list[float], flat: float) -> float | None:
    """Capacity that the rates of busy slots show."""
    if len(busy) < LASTING:
        return None
    rates, count = sorted(busy), len(busy)
    low, middle, high = rates[int(0.2 * count)], rates[int(0.5 * count)], rates[int(0.8 * count)]
    return high if high - low <= flat * middle else None


def capacity_changes(slots: list[Slot]) -> list[Change]:
    """Falls and rises of the capacity, without steps on the way from one level to the next."""
    found: list[Change] = []
    for change in _capacity_steps(slots):
        before = found[-1].at_ns if found else slots[0].start_ns
        if change.at_ns - before >= SETTLED_NS or not found:
            found.append(change)
    return found


def _capacity_steps(slots: list[Slot]) -> Iterator[Change]:
    first = 0
    index = 1
    least, most = 0.0, INFINITE
    fallen: float | None = None
    rates = [slot.delivered_bps for slot in slots]
    busy = [slot.delivered_bps for slot in slots if slot.busy]
    # Of each slot and those after it, as many as a new level must last.
    lasting = [rates[later:] for later in range(LASTING)]
    least_of, most_of = list(map(min, *lasting)), list(map(max, *lasting))
    # How many slots were busy before each one.
    until = [0, *accumulate(int(slot.busy) for slot in slots)]
    while index + LASTING < len(slots):
        lowest, highest = least_of[index + 1], most_of[index + 1]
        if lowest < ROSE * least and highest > FELL * most and index % LASTING:
            index += 1
            continue
        begin = max(first, index - 2 * RECENT)
        recent = busy[max(until[begin], until[index] - RECENT) : until[index]]
        level, below = _level(recent, FLAT), FELL
        less = highest <= max(rates[max(begin, index - LASTING) : index]) / ROSE
        if level is not None and not less and FELL * level < highest and lowest < ROSE * level:
            # As most slots are.
            least, most = level * NEAR, level / NEAR
            index += 1
            continue
        around = slots[index : index + 1 + LASTING]
        later = slots[index + 1 + LASTING : index + 1 + 2 * LASTING]
        past = slots[begin:index]
        if level is None and _fell_from_use(past, around):
            level, below = used(past), 1 / ROSE if whole(around[1:]) else FELL
        elif level is None:
            level = fallen
        least, most = (level * NEAR, level / NEAR) if level else (0.0, INFINITE)
        surge = None
        fell = level is not None and highest <= below * level
        if level is None and _lasts_below(past, around, later):
            fell = True
        elif not (fell and _fell(past, around, level or 0.0, later)):
            surge = surged(past, around) if less else None
            fell = surge is not None and highest <= used(past) / ROSE
        if fell:
            old = level if surge is None and level else used(past)
            if _crosses(around[1], surge or used(around[2:])):
                index, around = index + 1, around[1:]
            at_ns = _moment(around[0], old, surge or _mean(around[1:]))
            yield Change(index + 1, at_ns, "capacity", surge)
            first = index = index + 1
            fallen = surge or quantile([s.delivered_bps for s in around[1:]], 0.5)
        elif (
            level is not None
            and lowest >= ROSE * level
            and (level == fallen or first or (_level(recent, FLAT_BEFORE_RISE) and queued(past)))
            and _outlasts(slots, index + 1, ROSE * level)
        ):
            begin = _begin_of_rise(slots, first, index, level)
            if first or slots[begin].start_ns - slots[0].start_ns >= START_NS:
                yield Change(begin, slots[begin].start_ns, "capacity")
            first, index, fallen = begin, index + 1, None
        index += 1


def _fell(past: list[Slot], slots: list[Slot], level: float, later: list[Slot]) -> bool:
    """From the second of ``slots`` on the path is slower; the first may hold the change."""
    after = slots[1:]
    trains, probes = (
        [getattr(s, of) for s in after if getattr(s, of)] for of in ("train_bps", "probe_bps")
    )
    # Rounds that repair losses show no train.
    shown_at_once, trains = bool(trains), trains or [s.train_bps or 0.0 for s in later]
    fast = max(quantile(trains, 0.5), quantile(probes, 0.5)) > FELL_TRAINS * level
    if fast or not _full(after):
        return False
    # What was in flight leaves at the new rate: the queue grows, whatever marks it gets.
    peaks = [s.peak_us for s in slots if s.peak_us is not None]
    base = min((s.base_us for s in slots if s.base_us is not None), default=0.0)
    now = max(quantile([s.delivered_bps for s in after], 0.5), 1.0)
    excess = (level / now - 1) * base
    if not peaks or max(peaks) >= max(TRANSIENT * excess, QUEUE_US):
        return True
    # Or it was dropped, all of it: fewer losses alone make a sender slow, without a fall.
    gone_us = max(peaks) + _newly_lost(past, slots) * FRAME_BITS / now * 1e6
    least = excess if shown_at_once else DROPPED * excess
    return any(trains) and max(peaks) >= QUEUE_US and gone_us >= least


def _full(slots: list[Slot]) -> bool:
    """Enough of ``slots`` are busy, or left no gap."""
    whole_time = sum(s.busy or gapless(s) for s in slots) >= GAPLESS_PART * len(slots)
    return whole_time or sum(s.busy for s in slots) >= BUSY_PART * len(slots)


def _newly_lost(past: list[Slot], slots: list[Slot]) -> float:
    """Packets lost in ``slots``, without what the path lost at that pace before."""
    before = [s.lost for s in past[-LASTING:]]
    return float(sum(s.lost for s in slots) - len(slots) * sum(before) / len(before))


def _fell_from_use(past: list[Slot], around: list[Slot]) -> bool:
    """Before, the path carried more than it does now with a standing queue.

    It need not have been full: no path delivers more than it carries. An AQM that holds a queue of
    two packets lets one wait for a packet and a part of another; jitter is no queue.
    """
    standing = [s.delivered_bps for s in around[1:] if s.busy and waits(s)]
    if len(past) < LASTING or len(standing) < STANDING_PART * (len(around) - 1):
        return False
    middle = quantile(standing, 0.5)
    flat = max(standing) - min(standing) <= FLAT_BEFORE_RISE * middle
    return bool(flat and max(standing) <= used(past) / ROSE)


def _lasts_below(past: list[Slot], around: list[Slot], later: list[Slot]) -> bool:
    """A path that was not full is full at far less, for twice as long as a level must last.

    Its queue stands all along, or an AQM dropped the flight of before. A sender that backed off
    grows again meanwhile, and its bursts still leave at the rate of the path.
    """
    after = around[1:] + later
    if len(past) < LASTING or len(after) < 2 * LASTING:
        return False
    before, rates = used(past), [s.delivered_bps for s in after]
    trains = max(s.train_bps or 0.0 for s in after)
    if max(rates) > FELL * before or trains > FELL_TRAINS * before:
        return False
    most, now = GAPLESS_PART * len(after), max(quantile(rates, 0.5), 1.0)
    full = sum(s.busy or waits(s) for s in after) >= most
    if not full or max(rates) - min(rates) > FLAT * now:
        return False
    base = min((s.base_us for s in around if s.base_us is not None), default=0.0)
    dropped_us = _newly_lost(past, around) * FRAME_BITS / now * 1e6
    return sum(map(waits, after)) >= most or dropped_us >= DROPPED * (before / now - 1) * base


def _crosses(slot: Slot, new: float) -> bool:
    """The fall to ``new`` lies in ``slot``: it delivered more than those after it."""
    return bool(slot.delivered_bps > ROSE * new)


def _mean(slots: list[Slot]) -> float:
    return float(sum(s.delivered_bps for s in slots)) / len(slots)


def _moment(slot: Slot, level: float, new: float) -> int:
    """When in ``slot`` the rate fell: the bits that it delivered at the two levels show it."""
    part = (slot.delivered_bps - new) / (level - new)
    return int(slot.start_ns + min(max(part, 0.0), 1.0) * (slot.end_ns - slot.start_ns))


def _outlasts(slots: list[Slot], begin: int, level: float) -> bool:
    """At least ``level`` is delivered from slot ``begin`` on, for a round trip or more.

    The slots of a round share what it delivered evenly: where one flow ends and another goes on,
    the sum of both may exceed what the path carries, for as long as a round lasts.
    """
    trips = [
        s.base_us + (s.queue_us or 0.0)
        for s in slots[begin : begin + LASTING]
        if s.base_us is not None
    ]
    until = slots[begin].start_ns + 1000 * min(trips, default=0.0)
    if until > slots[-1].end_ns:
        return False
    over = takewhile(lambda s: s.start_ns < until, islice(slots, begin, None))
    return all(s.delivered_bps >= level for s in over)


def _begin_of_rise(slots: list[Slot], first: int, index: int, level: float) -> int:
    """The first slot above the old level: growth from there to ``index`` was never below it."""
    begin = index + 1
    while begin - 1 > first and slots[begin - 1].delivered_bps > ABOVE * level:
        begin -= 1
    return begin
