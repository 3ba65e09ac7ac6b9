"""Which slots of a path show that it was full, and how long and how far off a new level is one.

What full slots deliver is the capacity of the path.

`of_rows` makes slots of rows of `capacity.slots`.
"""

from __future__ import annotations

from itertools import starmap
from typing import NamedTuple

import polars as pl

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

BUSY_PART = 0.6
"""Part of the slots of a new lower level that must be busy. By eye."""

RECENT = 100
"""Busy slots that are remembered: enough for quantiles, and a run of any length stays linear."""

QUEUE_US, QUEUE_PACKETS = 2000.0, 1.5
"""Waiting of the fastest packet that shows a standing queue: as in `bottlenecks`."""

GAPLESS = 0.06
"""How far trains and what a slot delivers may differ where packets follow each other without gaps:
half a packet of the eight that a train counts."""

HALF_PACKET = 0.5
"""Wait, in times of a packet, that a full path leaves on average. By eye."""

FRAME_BITS = 1514 * 8
"""A full Ethernet frame without FCS."""

HELD_BACK = 0.5
"""Share of a slot from which senders count as limited by themselves."""


class Slot(NamedTuple):
    """A row of `capacity.slots`, whose columns it has."""

    source: int
    path: str
    flows: int
    slot: int
    start_ns: int
    end_ns: int
    first_ns: int
    last_ns: int
    delivered_bps: float
    train_bps: float | None
    probe_bps: float | None
    marks: float
    acked: float
    lost: float
    least_us: float | None
    queue_us: float | None
    floor_us: float | None
    peak_us: float | None
    base_us: float | None
    held_back: float
    full_bps: float | None
    noise_us: float
    """What the noise of the path adds to a delay."""
    busy: bool
    """The path itself limited what was delivered in the slot."""


def of_rows(slots: pl.LazyFrame) -> list[Slot]:
    """Rows of `capacity.slots` with `noise_us` (null: none)."""
    noise_us = pl.col("noise_us").fill_null(0.0)
    plain = Slot._fields[: Slot._fields.index("noise_us")]
    # Column by column: row by row polars takes twice as long.
    rows = slots.select(*plain, noise_us=noise_us, busy=_busy(noise_us))
    columns = rows.collect().get_columns()
    return list(starmap(Slot, zip(*(column.to_list() for column in columns), strict=True)))


def _busy(noise_us: pl.Expr) -> pl.Expr:
    """A queue in which the packets of all flows wait fills the path, though a window limits one.

    Else marks fill it, or that even the fastest packet waited.
    """
    waited = pl.col("queue_us").fill_null(0.0)
    packet = FRAME_BITS / pl.max_horizontal("delivered_bps", 1.0) * 1e6
    stands = waited >= pl.max_horizontal(QUEUE_US, noise_us, QUEUE_PACKETS * packet)
    all_wait = stands & (pl.col("floor_us").fill_null(0.0) >= QUEUE_US)
    free = pl.col("held_back") < HELD_BACK
    return pl.when(free).then((pl.col("marks") > 0) | stands).otherwise(all_wait)


def packet_us(slot: Slot) -> float:
    """Time of a full packet at what the slot delivered."""
    return FRAME_BITS / max(float(slot.delivered_bps), 1.0) * 1e6


def queued(slots: list[Slot]) -> bool:
    """Half of the full ones of ``slots`` left a queue, as a path that is full does.

    Marks alone also come to the packets of a burst on a path that is far from full.
    """
    busy = [s for s in slots if s.busy][-RECENT:]
    waited = [s.peak_us is None or s.peak_us >= HALF_PACKET * packet_us(s) for s in busy]
    return bool(2 * sum(waited) >= len(waited))


def waits(slot: Slot) -> bool:
    """Even the fastest packet waited for more than the one that was just being sent."""
    return bool((slot.queue_us or 0.0) >= max(QUEUE_US, packet_us(slot), slot.noise_us))


def gapless(slot: Slot) -> bool:
    """Packets left at the rate of their trains all the time, and some of them waited.

    So the queue was never empty for long, though the shortest of its delays is near 0.
    """
    train, rate = slot.train_bps or 0.0, slot.delivered_bps
    alike = abs(train - rate) <= GAPLESS * rate
    waited = (slot.peak_us or 0.0) >= max(QUEUE_US, QUEUE_PACKETS * packet_us(slot))
    return bool(slot.held_back < HELD_BACK and alike and waited)


def used(past: list[Slot]) -> float:
    """What the last slots delivered."""
    return quantile([s.delivered_bps for s in past[-LASTING:]], 0.5)


def whole(slots: list[Slot]) -> bool:
    """Their rates are those of their own time: a round that repairs losses smears its own."""
    return sum(s.train_bps is not None for s in slots) >= BUSY_PART * len(slots)
