"""When the capacity, the marking or the base RTT of one path changed, from its slots.

A capacity is shown by slots that were *busy*: marks were fed back, or even the fastest packet
waited 2 ms or 1.5 packets. It fell when busy slots deliver, and packet trains reach, clearly less
for half a second or more after the queue that a full flight leaves at a lower rate; it rose when
slots deliver more, which no path does beyond its capacity. A sender that backs off empties the
queue, so its low slots are not busy. It also fell when less is delivered while the queue grows,
however soon the senders back off. Measured on 550 emulated runs: 111 of 115 falls to 0.6 of the
capacity or less are found, and no change in the 404 runs without one.

Lists of slots are rows of `capacity.slots` of one path, each with `busy` and `noise_us` (what the
noise of the path adds to a delay).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, islice, takewhile
from typing import Any, NamedTuple

from l4strace.derive.capacity import quantile

LASTING = 5
"""Slots that a new level must last (0.5 s or ten rounds). By eye: one cut does not last as long."""

FELL, ROSE = 0.7, 1.25
"""Levels against the capacity before: above the noise of slots (about 10 %). A sender that backs
off to half its rate every few seconds stays above the first in some of the slots. By eye."""

FELL_TRAINS = 0.85
"""Level of the packet trains after a fall: they are no faster than the path. By eye, above FELL by
the 15 % that schedulers add to trains."""

TRANSIENT = 0.25
"""Part of the queue that a full flight leaves when the rate falls, (old / new - 1) base RTTs, that
must be seen: an AQM may drop the rest. By eye."""

SETTLED_NS = 1_000_000_000
"""A level that lasts less is the way from one level to the next. By eye."""

START_NS = 2_000_000_000
"""A first level that lasts less before a rise is slow start and what follows it. By eye."""

BUSY_PART = 0.6
"""Part of the slots of a new lower level that must be busy. By eye."""

DROPPED = 0.75
"""Part of what a fall leaves in flight that must be seen to wait or to be lost while losses hide
the trains: a sender that hears of them sends less meanwhile. By eye."""

STANDING_PART = 0.6
"""The same with a standing queue, where no full path was seen before: such slots deliver what the
path carries, while marks alone also come to flows that back off."""

FLAT, FLAT_BEFORE_RISE = 0.4, 0.25
"""Largest spread (quantiles 0.2 to 0.8) of busy slots, in parts of their median, that show a
capacity: a ramp spreads wider. By eye; before a rise less, as slow start rises too."""

RECENT = 100
"""Busy slots that are remembered: enough for quantiles, and a run of any length stays linear."""

QUEUE_US, QUEUE_PACKETS = 2000.0, 1.5
"""Waiting of the fastest packet that shows a standing queue: as in `bottlenecks`."""

GAPLESS = 0.06
"""How far trains and what a slot delivers may differ where packets follow each other without gaps:
half a packet of the eight that a train counts."""

GAPLESS_PART = 0.8
"""Part of the slots of a new lower level that must be busy or leave no gap: more than of busy ones,
as trains that jitter spreads agree with the rate by chance. By eye."""

SEEN, SURGE = 3, 3
"""Slots that show what was delivered before, and those after it that may show a surge. By eye."""

FLOOD = 0.5
"""Part of the packets that are marked while an L4S queue takes in what a fall leaves. By eye: more
than the marks of a sender that keeps up with the path."""

REPAIRED = 0.25
"""Part of the packets that were lost, from which their repair takes rounds so long that slots
inside one show no rate of their own. By eye."""

HALF_PACKET = 0.5
"""Wait, in times of a packet, that a full path leaves on average. By eye."""

FRAME_BITS = 1514 * 8
"""A full Ethernet frame without FCS."""

HELD_BACK = 0.5
"""Share of a slot from which senders count as limited by themselves."""

NEAR, INFINITE = 0.9, float("inf")
"""A level moves by less than a tenth within LASTING slots: only near it is it measured anew."""

ABOVE = 1.1
"""A slot above the old capacity by its noise. By eye."""

Slot = dict[str, Any]


class Change(NamedTuple):
    """The slot that begins a phase, the time (ns), and what changed as in `phases.changed`."""

    first: int
    at_ns: int
    what: str
    shown_bps: float | None = None
    """Capacity that its first slots show."""


def busy(slot: Slot) -> bool:
    """The path itself limited what was delivered in the slot.

    A queue in which the packets of all flows wait fills it, though a window limits one of them.
    """
    if slot["held_back"] < HELD_BACK:
        return bool(slot["marks"] > 0 or _stands(slot))
    return _stands(slot) and bool((slot["floor_us"] or 0.0) >= QUEUE_US)


def _packet_us(slot: Slot) -> float:
    """Time of a full packet at what the slot delivered."""
    return FRAME_BITS / max(float(slot["delivered_bps"]), 1.0) * 1e6


def _stands(slot: Slot) -> bool:
    """Even the fastest packet waited."""
    waited = slot["queue_us"] or 0.0
    return bool(
        waited >= QUEUE_US
        and waited >= slot["noise_us"]
        and waited >= QUEUE_PACKETS * _packet_us(slot)
    )


def queued(slots: list[Slot]) -> bool:
    """Half of the full ones of ``slots`` left a queue, as a path that is full does.

    Marks alone also come to the packets of a burst on a path that is far from full.
    """
    busy = [s for s in slots if s["busy"]][-RECENT:]
    waited = [s["peak_us"] is None or s["peak_us"] >= HALF_PACKET * _packet_us(s) for s in busy]
    return bool(2 * sum(waited) >= len(waited))


def _waits(slot: Slot) -> bool:
    """Even the fastest packet waited for more than the one that was just being sent."""
    return bool((slot["queue_us"] or 0.0) >= max(QUEUE_US, _packet_us(slot), slot["noise_us"]))


def _gapless(slot: Slot) -> bool:
    """Packets left at the rate of their trains all the time, and some of them waited.

    So the queue was never empty for long, though the shortest of its delays is near 0.
    """
    train, rate = slot["train_bps"] or 0.0, slot["delivered_bps"]
    alike = abs(train - rate) <= GAPLESS * rate
    waited = (slot["peak_us"] or 0.0) >= max(QUEUE_US, QUEUE_PACKETS * _packet_us(slot))
    return bool(slot["held_back"] < HELD_BACK and alike and waited)


def shown(slots: list[Slot]) -> float | None:
    """Capacity that the busy ones of ``slots`` show; None where they show none."""
    return _level([s["delivered_bps"] for s in slots if s["busy"]][-RECENT:], FLAT)


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
        before = found[-1].at_ns if found else slots[0]["start_ns"]
        if change.at_ns - before >= SETTLED_NS or not found:
            found.append(change)
    return found


def _capacity_steps(slots: list[Slot]) -> Iterator[Change]:
    first = 0
    index = 1
    least, most = 0.0, INFINITE
    fallen: float | None = None
    rates = [slot["delivered_bps"] for slot in slots]
    busy = [slot["delivered_bps"] for slot in slots if slot["busy"]]
    # Of each slot and those after it, as many as a new level must last.
    lasting = [rates[later:] for later in range(LASTING)]
    least_of, most_of = list(map(min, *lasting)), list(map(max, *lasting))
    # How many slots were busy before each one.
    until = [0, *accumulate(int(slot["busy"]) for slot in slots)]
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
            level, below = _used(past), 1 / ROSE if _whole(around[1:]) else FELL
        elif level is None:
            level = fallen
        least, most = (level * NEAR, level / NEAR) if level else (0.0, INFINITE)
        surged = None
        fell = level is not None and highest <= below * level
        if level is None and _lasts_below(past, around, later):
            fell = True
        elif not (fell and _fell(past, around, level or 0.0, later)):
            surged = _surged(past, around) if less else None
            fell = surged is not None and highest <= _used(past) / ROSE
        if fell:
            old = level if surged is None and level else _used(past)
            if _crosses(around[1], surged or _used(around[2:])):
                index, around = index + 1, around[1:]
            at_ns = _moment(around[0], old, surged or _mean(around[1:]))
            yield Change(index + 1, at_ns, "capacity", surged)
            first = index = index + 1
            fallen = surged or quantile([s["delivered_bps"] for s in around[1:]], 0.5)
        elif (
            level is not None
            and lowest >= ROSE * level
            and (level == fallen or first or (_level(recent, FLAT_BEFORE_RISE) and queued(past)))
            and _outlasts(slots, index + 1, ROSE * level)
        ):
            begin = _begin_of_rise(slots, first, index, level)
            if first or slots[begin]["start_ns"] - slots[0]["start_ns"] >= START_NS:
                yield Change(begin, slots[begin]["start_ns"], "capacity")
            first, index, fallen = begin, index + 1, None
        index += 1


def _fell(past: list[Slot], slots: list[Slot], level: float, later: list[Slot]) -> bool:
    """From the second of ``slots`` on the path is slower; the first may hold the change."""
    after = slots[1:]
    trains = [s["train_bps"] for s in after if s["train_bps"]]
    # Rounds that repair losses show no train.
    shown_at_once, trains = bool(trains), trains or [s["train_bps"] or 0.0 for s in later]
    if quantile(trains, 0.5) > FELL_TRAINS * level or not _full(after):
        return False
    # What was in flight leaves at the new rate: the queue grows, whatever marks it gets.
    peaks = [s["peak_us"] for s in slots if s["peak_us"] is not None]
    base = min((s["base_us"] for s in slots if s["base_us"] is not None), default=0.0)
    now = max(quantile([s["delivered_bps"] for s in after], 0.5), 1.0)
    excess = (level / now - 1) * base
    if not peaks or max(peaks) >= max(TRANSIENT * excess, QUEUE_US):
        return True
    # Or it was dropped, all of it: fewer losses alone make a sender slow, without a fall.
    gone_us = max(peaks) + _newly_lost(past, slots) * FRAME_BITS / now * 1e6
    least = excess if shown_at_once else DROPPED * excess
    return any(trains) and max(peaks) >= QUEUE_US and gone_us >= least


def _surged(past: list[Slot], around: list[Slot]) -> float | None:
    """What the path delivers of late, if that is less than before although its queue grew.

    No sender does both: one that sends more fills the path, one that backs off empties its queue.
    """
    if len(past) < SEEN:
        return None
    used = _used(past)
    stood, peak = (
        max(s[waited] or 0.0 for s in past[-LASTING:]) for waited in ("queue_us", "peak_us")
    )
    shown = []
    for slot in around[1 : 1 + SURGE]:
        grown = (slot["queue_us"] or 0.0) - stood
        if _flooded(slot, used):
            grown = max(grown, (slot["peak_us"] or 0.0) - peak)
        least = max(QUEUE_US, 2 * _packet_us(slot), slot["noise_us"])
        repaired = slot["lost"] > REPAIRED * slot["acked"]
        if grown >= least and slot["held_back"] < HELD_BACK and not repaired:
            shown.append(slot)
    below = 1 / ROSE if _whole(shown) else FELL
    rates = [float(slot["delivered_bps"]) for slot in shown]
    return min(rates) if rates and max(rates) <= below * used else None


def _flooded(slot: Slot, used: float) -> bool:
    """Most packets of the slot were marked, and their trains were slower than what went before.

    The queue of a slot that a sender floods by itself drains as fast as ever.
    """
    slower = 0.0 < (slot["train_bps"] or 0.0) <= FELL_TRAINS * used
    return bool(slower and slot["marks"] >= FLOOD * slot["acked"])


def _full(slots: list[Slot]) -> bool:
    """Enough of ``slots`` are busy, or left no gap."""
    gapless = sum(s["busy"] or _gapless(s) for s in slots) >= GAPLESS_PART * len(slots)
    return gapless or sum(s["busy"] for s in slots) >= BUSY_PART * len(slots)


def _newly_lost(past: list[Slot], slots: list[Slot]) -> float:
    """Packets lost in ``slots``, without what the path lost at that pace before."""
    before = [s["lost"] for s in past[-LASTING:]]
    return float(sum(s["lost"] for s in slots) - len(slots) * sum(before) / len(before))


def _fell_from_use(past: list[Slot], around: list[Slot]) -> bool:
    """Before, the path carried more than it does now with a standing queue.

    It need not have been full: no path delivers more than it carries. An AQM that holds a queue of
    two packets lets one wait for a packet and a part of another; jitter is no queue.
    """
    standing = [s["delivered_bps"] for s in around[1:] if s["busy"] and _waits(s)]
    if len(past) < LASTING or len(standing) < STANDING_PART * (len(around) - 1):
        return False
    middle = quantile(standing, 0.5)
    flat = max(standing) - min(standing) <= FLAT_BEFORE_RISE * middle
    return bool(flat and max(standing) <= _used(past) / ROSE)


def _lasts_below(past: list[Slot], around: list[Slot], later: list[Slot]) -> bool:
    """A path that was not full is full at far less, for twice as long as a level must last.

    Its queue stands all along, or an AQM dropped the flight of before. A sender that backed off
    grows again meanwhile, and its bursts still leave at the rate of the path.
    """
    after = around[1:] + later
    if len(past) < LASTING or len(after) < 2 * LASTING:
        return False
    used, rates = _used(past), [s["delivered_bps"] for s in after]
    if max(rates) > FELL * used or max(s["train_bps"] or 0.0 for s in after) > FELL_TRAINS * used:
        return False
    most, now = GAPLESS_PART * len(after), max(quantile(rates, 0.5), 1.0)
    full = sum(s["busy"] or _waits(s) for s in after) >= most
    if not full or max(rates) - min(rates) > FLAT * now:
        return False
    base = min((s["base_us"] for s in around if s["base_us"] is not None), default=0.0)
    dropped_us = _newly_lost(past, around) * FRAME_BITS / now * 1e6
    return sum(map(_waits, after)) >= most or dropped_us >= DROPPED * (used / now - 1) * base


def _used(past: list[Slot]) -> float:
    """What the last slots delivered."""
    return quantile([s["delivered_bps"] for s in past[-LASTING:]], 0.5)


def _crosses(slot: Slot, new: float) -> bool:
    """The fall to ``new`` lies in ``slot``: it delivered more than those after it."""
    return bool(slot["delivered_bps"] > ROSE * new)


def _mean(slots: list[Slot]) -> float:
    return float(sum(s["delivered_bps"] for s in slots)) / len(slots)


def _moment(slot: Slot, level: float, new: float) -> int:
    """When in ``slot`` the rate fell: the bits that it delivered at the two levels show it."""
    part = (slot["delivered_bps"] - new) / (level - new)
    return int(slot["start_ns"] + min(max(part, 0.0), 1.0) * (slot["end_ns"] - slot["start_ns"]))


def _whole(slots: list[Slot]) -> bool:
    """Their rates are those of their own time: a round that repairs losses smears its own."""
    return sum(s["train_bps"] is not None for s in slots) >= BUSY_PART * len(slots)


def _outlasts(slots: list[Slot], begin: int, level: float) -> bool:
    """At least ``level`` is delivered from slot ``begin`` on, for a round trip or more.

    The slots of a round share what it delivered evenly: where one flow ends and another goes on,
    the sum of both may exceed what the path carries, for as long as a round lasts.
    """
    trips = [
        s["base_us"] + (s["queue_us"] or 0.0)
        for s in slots[begin : begin + LASTING]
        if s["base_us"] is not None
    ]
    until = slots[begin]["start_ns"] + 1000 * min(trips, default=0.0)
    if until > slots[-1]["end_ns"]:
        return False
    over = takewhile(lambda s: s["start_ns"] < until, islice(slots, begin, None))
    return all(s["delivered_bps"] >= level for s in over)


def _begin_of_rise(slots: list[Slot], first: int, index: int, level: float) -> int:
    """The first slot above the old level: growth from there to ``index`` was never below it."""
    begin = index + 1
    while begin - 1 > first and slots[begin - 1]["delivered_bps"] > ABOVE * level:
        begin -= 1
    return begin
