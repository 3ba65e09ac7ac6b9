"""Phases of each path: stretches in which capacity, marking and base RTT stay the same.

Averages over a run that crosses a change describe neither part. So rules judge per phase:
``phases.of(capture)`` is the table, and ``phases.assigned(capture, rounds)`` adds the column
`phase` to rounds (or any rows with `source`, `flow`, `forward` and `start_ns`).

A capacity is shown by slots that were *busy*: marks were fed back, or the round that waited least
still waited 2 ms or 1.5 packets. It fell when busy slots deliver at most 0.75 of it for half a
second or more, and rose when they deliver 1.25 of it: no path delivers more than its capacity.
A sender that backs off empties the queue, so its low slots are not busy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from l4strace.derive import capacity, company
from l4strace.derive.capacity import PATH
from l4strace.evidence import Capture, kept
from l4strace.schema import TABLES
from l4strace.schema.keys import KEY

LASTING = 5
"""Slots that a new level must last (0.5 s or ten rounds). By eye: one cut does not last as long."""

FELL, ROSE = 0.75, 1.25
"""Levels against the capacity before: by eye, above the noise of slots (about 10 %)."""

BUSY_PART = 0.6
"""Part of the slots of a new lower level that must be busy. By eye."""

FLAT = 0.4
"""Largest spread (quantiles 0.2 to 0.8) of busy slots, in parts of their median, that show a
capacity: a ramp spreads wider. By eye."""

QUEUE_US, QUEUE_PACKETS = 2000.0, 1.5
"""Waiting of the fastest packet that shows a standing queue: as in `bottlenecks`."""

FRAME_BITS = 1514 * 8
"""A full Ethernet frame without FCS."""

HELD_BACK = 0.5
"""Share of a slot from which senders count as limited by themselves."""

Slot = dict[str, Any]


@kept
def of(capture: Capture) -> pl.DataFrame:
    """The phases of all paths, in the schema of `phases`."""
    schema = TABLES["phases"]
    slots = capacity.slots(capture)
    rows: list[dict[str, Any]] = []
    for group in slots.partition_by(PATH, maintain_order=True):
        rows += _of_path(group.to_dicts())
    return schema.conform(pl.DataFrame(rows, infer_schema_length=None)) if rows else schema.empty()


def table(capture: Capture) -> pl.DataFrame:
    """As `of`."""
    return of(capture)


def assigned(capture: Capture, rounds: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``rounds`` in their order with the columns `path` and `phase`, null without one."""
    found = of(capture).select(*PATH, "phase", from_ns="start_ns").sort("from_ns")
    known = rounds if "path" in rounds.columns else _with_path(capture, rounds)
    order = known.with_row_index("_row").sort("start_ns")
    joined = order.join_asof(
        found, left_on="start_ns", right_on="from_ns", by=PATH, check_sortedness=False
    )
    return joined.sort("_row").drop("_row", "from_ns")


def _with_path(capture: Capture, rounds: pl.DataFrame) -> pl.DataFrame:
    paths = company.directions(capture).select(*KEY, "path")
    return rounds.join(paths, on=KEY, how="left", maintain_order="left")


def busy(slot: Slot) -> bool:
    """The path itself limited what was delivered in the slot."""
    if slot["held_back"] >= HELD_BACK:
        return False
    packet_us = FRAME_BITS / max(slot["delivered_bps"], 1.0) * 1e6
    waits = slot["queue_us"] or 0.0
    return bool(slot["marks"] > 0 or waits >= max(QUEUE_US, QUEUE_PACKETS * packet_us))


def _of_path(slots: list[Slot]) -> list[dict[str, Any]]:
    for slot in slots:
        slot["busy"] = busy(slot)
    cuts = list(_changes(slots))
    edges = [0, *(index for index, _ in cuts), len(slots)]
    starts = [slots[0]["start_ns"], *(at for _, at in cuts), slots[-1]["end_ns"]]
    rows = [
        _row(slots[a:b], begin, end)
        for a, b, begin, end in zip(edges, edges[1:], starts, starts[1:], strict=False)
    ]
    for number, row in enumerate(rows):
        row["phase"] = number
        row["changed"] = "capacity" if number else None
    return rows


def _changes(slots: list[Slot]) -> Iterator[tuple[int, int]]:
    """Index of the first slot after each change of capacity, and when it changed (ns)."""
    first = 0
    index = 1
    while index + LASTING < len(slots):
        level = shown(slots[first:index])
        after = slots[index + 1 : index + 1 + LASTING]
        if level is not None and _fell(after, level):
            yield index + 1, _moment(slots[index], level, after)
            first = index = index + 1
        elif level is not None and min(s["delivered_bps"] for s in after) >= ROSE * level:
            begin = _begin_of_rise(slots, first, index, level)
            yield begin, slots[begin]["start_ns"]
            first, index = begin, index + 1
        index += 1


def shown(slots: list[Slot]) -> float | None:
    """Capacity that the busy ones of ``slots`` show; None where they show none."""
    rates = [s["delivered_bps"] for s in slots if s["busy"]][-RECENT:]
    if len(rates) < LASTING:
        return None
    low, middle, high = (capacity.quantile(rates, q) for q in (0.2, 0.5, 0.8))
    return high if high - low <= FLAT * middle else None


RECENT = 100
"""Busy slots that are remembered: enough for quantiles, and a run of any length stays linear."""


def _fell(after: list[Slot], level: float) -> bool:
    low = max(s["delivered_bps"] for s in after) <= FELL * level
    return low and sum(s["busy"] for s in after) >= BUSY_PART * len(after)


def _moment(slot: Slot, level: float, after: list[Slot]) -> int:
    """When in ``slot`` the rate fell: the bits that it delivered at the two levels show it."""
    new = sum(s["delivered_bps"] for s in after) / len(after)
    part = (slot["delivered_bps"] - new) / (level - new)
    return int(slot["start_ns"] + min(max(part, 0.0), 1.0) * (slot["end_ns"] - slot["start_ns"]))


def _begin_of_rise(slots: list[Slot], first: int, index: int, level: float) -> int:
    """The first slot above the old level: growth from there to ``index`` was never below it."""
    begin = index + 1
    while begin - 1 > first and slots[begin - 1]["delivered_bps"] > ABOVE * level:
        begin -= 1
    return begin


ABOVE = 1.1
"""A slot above the old capacity by its noise. By eye."""


def _row(slots: list[Slot], start_ns: int, end_ns: int) -> dict[str, Any]:
    delivered = [s["delivered_bps"] for s in slots]
    trains = [s["train_bps"] for s in slots if s["train_bps"]]
    full = [s["delivered_bps"] for s in slots if s["busy"]]
    level = shown(slots)
    size = capacity.estimate(full if level is not None else delivered, trains)
    marks, acked = sum(s["marks"] for s in slots), sum(s["acked"] for s in slots)
    least = [s["least_us"] for s in slots if s["least_us"] is not None]
    return {
        "source": slots[0]["source"],
        "path": slots[0]["path"],
        "start_ns": start_ns,
        "end_ns": end_ns,
        "capacity_bps": size,
        "capacity_shown": level is not None,
        "rate_bps": sum(delivered) / len(delivered),
        "busy_share": len(full) / len(slots),
        "base_rtt_us": min(least, default=None),
        "marks": round(marks),
        "ce_share": marks / acked if acked else None,
        "losses": round(sum(s["lost"] for s in slots)),
    }
