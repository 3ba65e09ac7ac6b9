"""Phases of each path: stretches in which capacity, marking and base RTT stay the same.

Averages over a run that crosses a change describe neither part. So rules judge per phase:
``phases.table(capture)`` is the table, and ``phases.assigned(capture, rounds)`` adds the column
`phase` to rounds (or any rows with `source`, `flow`, `forward` and `start_ns`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise, takewhile
from operator import attrgetter
from typing import Any

import polars as pl

from l4strace.core import _native
from l4strace.derive import (
    capacity,
    changes,
    company,
    full_slots,
    noise,
    numbers,
    silences,
    usage,
)
from l4strace.derive.changes import Change
from l4strace.derive.full_slots import LASTING, QUEUE_US, Slot
from l4strace.evidence import Capture, kept
from l4strace.schema import TABLES
from l4strace.schema.keys import KEY, PATH


@kept
def table(capture: Capture) -> pl.DataFrame:
    """The phases of all paths, in the schema of `phases`."""
    schema = TABLES["phases"]
    slots = capacity.slots(capture)
    each = full_slots.of_rows(
        slots.lazy().join(_noise(capture), on=PATH, how="left", maintain_order="left")
    )
    rows: list[dict[str, Any]] = []
    for _, path in groupby(each, attrgetter(*PATH)):
        rows += _of_path(list(path))
    return schema.conform(pl.DataFrame(rows, infer_schema_length=None)) if rows else schema.empty()


def _noise(capture: Capture) -> pl.LazyFrame:
    """`noise_us` of each path: what all of its flows show."""
    added = (noise.HIDES * pl.col("common_us")).min().alias("noise_us")
    return noise.table(capture).lazy().group_by(PATH).agg(added)


def capacities(capture: Capture) -> pl.DataFrame:
    """`capacity_bps` of each path in its longest phase."""
    length = pl.col("end_ns") - pl.col("start_ns")
    longest = pl.col("capacity_bps").sort_by(length).last()
    return table(capture).lazy().group_by(PATH).agg(longest).collect()


@kept
def sized(capture: Capture) -> pl.DataFrame:
    """Of each direction, the number of its path, the capacity there, and `noise_us`."""
    return (
        company.directions(capture)
        .lazy()
        .select(*KEY, "path", numbers.paths(capture))
        .join(capacities(capture).lazy(), on=PATH, how="left", maintain_order="left")
        .join(noise.table(capture).lazy(), on=KEY, how="left", maintain_order="left")
        .select(
            "at", "capacity_bps", noise_us=pl.coalesce("hides_owd_us", "hides_us").fill_null(0.0)
        )
        .collect()
    )


def carried(capture: Capture) -> pl.DataFrame:
    """`carried_bps` of each phase of a path that changed its capacity, where the phase shows it."""
    changed = pl.col("capacity_bps").n_unique().over(PATH) > 1
    return (
        table(capture)
        .lazy()
        .filter(changed & pl.col("capacity_shown"))
        .select(*PATH, "phase", carried_bps="capacity_bps")
        .collect()
    )


def assigned(capture: Capture, rounds: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``rounds`` in their order with the columns `path` and `phase`, null without one."""
    known = rounds if "path" in rounds.columns else _with_path(capture, rounds)
    named = numbers.named(capture)
    rows = known if "at" in known.columns else _joined(known, named)
    found = table(capture).lazy().join(named.lazy(), on=PATH, how="left", maintain_order="left")
    begun = found.select("at", "start_ns", "phase").sort("at", "start_ns").collect()
    made = _native.path_phases(rows.select("at", "start_ns").rechunk(), begun.rechunk())
    return known.hstack(pl.DataFrame(made))


def _joined(rows: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    return rows.join(named, on=PATH, how="left", maintain_order="left")


def _with_path(capture: Capture, rounds: pl.DataFrame) -> pl.DataFrame:
    paths = company.directions(capture).select(*KEY, "path")
    return rounds.join(paths, on=KEY, how="left", maintain_order="left")


def _of_path(slots: list[Slot]) -> list[dict[str, Any]]:
    found = _ordered(
        [
            *changes.capacity_changes(slots),
            *silences.marking_changes(slots),
            *silences.base_rtt_changes(slots),
        ]
    )
    rows = list(_rows(slots, found))
    kept_changes = [
        change
        for change, before, after in zip(found, rows, rows[1:], strict=False)
        if not _undone(change, before, after, slots)
    ]
    if len(kept_changes) < len(found):
        rows = list(_rows(slots, kept_changes))
    return rows


def _undone(
    change: Change, before: dict[str, Any], after: dict[str, Any], slots: list[Slot]
) -> bool:
    """What is much the same in the whole of both phases did not change."""
    if change.what == "capacity":
        return _alike(before, after) or _ends(before, after, slots, change.first)
    if change.what == "base RTT":
        return bool(abs(before["base_rtt_us"] - after["base_rtt_us"]) < silences.STEP_US)
    return False


def _ordered(found: list[Change]) -> list[Change]:
    """By time; of changes at one slot the first counts."""
    by_index: dict[int, Change] = {}
    for change in found:
        by_index.setdefault(change.first, change)
    return [by_index[index] for index in sorted(by_index)]


def _ends(before: dict[str, Any], last: dict[str, Any], slots: list[Slot], first: int) -> bool:
    """A fall to a level that nothing shows, or with fewer flows: at the end they end one by one.

    Not where a queue stood at the lower level before the first of them ended: marks alone also come
    to flows that send less.
    """
    there, left = (
        [s.flows for s in part]
        for part in (slots[max(0, first - LASTING) : first], slots[first : first + ENDING])
    )
    most = max(there, default=0)
    whole = list(takewhile(lambda s: s.flows >= most, slots[first:]))
    fell = last["capacity_bps"] < before["capacity_bps"]
    count = len(slots) - first
    unseen = count <= ENDING and not last["capacity_shown"]
    stood = sum(s.busy and (s.queue_us or 0.0) >= QUEUE_US for s in whole)
    fewer = count <= 2 * ENDING and min(left) < most and stood < LASTING
    return bool(fell and (unseen or fewer))


def _alike(before: dict[str, Any], after: dict[str, Any]) -> bool:
    ratio = after["capacity_bps"] / max(before["capacity_bps"], 1.0)
    return bool(1 / ALIKE < ratio < ALIKE)


TOP, TOP_RATIO = 3, 1.5
"""The third fastest slot counts where it is this much above what busy slots show: such a path was
marked or slowed down at a lower rate than it carries. By eye, above the smear of slots."""

ENDING = 2 * LASTING
"""Last slots of a path in which a fall must show its level. By eye: twice those that it lasts."""

ALIKE = 1.25
"""Ratio of two capacities that are not called a change: as `full_slots.ROSE`."""


def _rows(slots: list[Slot], found: list[Change]) -> Iterator[dict[str, Any]]:
    edges = [0, *(change.first for change in found), len(slots)]
    starts = [slots[0].first_ns, *(change.at_ns for change in found), slots[-1].last_ns]
    for number, (a, b) in enumerate(pairwise(edges)):
        known = found[number - 1].shown_bps if number else None
        yield _row(slots[a:b], known) | {
            "phase": number,
            "start_ns": starts[number],
            "end_ns": starts[number + 1],
            "changed": found[number - 1].what if number else None,
        }


def _size(slots: list[Slot], trains: list[float]) -> float:
    """Capacity of a phase with busy slots."""
    busy = [s for s in slots if s.busy]
    standing = [s.delivered_bps for s in busy if (s.queue_us or 0.0) >= QUEUE_US]
    level = capacity.plateau(standing) if 2 * len(standing) >= len(busy) else None
    return level or capacity.estimate([s.delivered_bps for s in busy], trains)


def _credible(slots: list[Slot], trains: str) -> list[float]:
    """Rates of ``trains`` that the noise of the path does not make: they last longer than it."""
    longest = capacity.PROBE_PACKETS * full_slots.FRAME_BITS * 1e6
    noted = [getattr(s, trains) for s in slots if getattr(s, trains)]
    jitter = slots[0].noise_us / noise.HIDES
    return [t for t in noted if jitter < noise.NOTED_US or longest / t >= jitter]


def _row(slots: list[Slot], known_bps: float | None) -> dict[str, Any]:
    delivered = [s.delivered_bps for s in slots]
    trains, probes = (_credible(slots, name) for name in ("train_bps", "probe_bps"))
    full = [s.delivered_bps for s in slots if s.busy]
    level = changes.shown(slots)
    size = _size(slots, trains) if level is not None else 0.0
    if known_bps and not (level and full_slots.queued(slots)):
        size = max(size, known_bps)
    # No slot delivers more than the path carries; one may hold bits of its neighbor.
    most = sorted(delivered)[-TOP:][0]
    if most > TOP_RATIO * size:
        size = max(most, capacity.estimate(delivered, trains))
    if level is None:
        # Flows that never fill the path had a queue where they were marked: at its own rate.
        size = max(size, sorted(probes)[(len(probes) - 1) // 2] if probes else 0.0)
    marks, acked = sum(s.marks for s in slots), sum(s.acked for s in slots)
    least = [s.least_us for s in slots if s.least_us is not None]
    return {
        "source": slots[0].source,
        "path": slots[0].path,
        "capacity_bps": size,
        "capacity_shown": level is not None,
        "rate_bps": sum(delivered) / len(delivered),
        "busy_share": len(full) / len(slots),
        "base_rtt_us": min(least, default=None),
        "marks": round(marks),
        "ce_share": marks / acked if acked else None,
        "losses": round(sum(s.lost for s in slots)),
        **usage.of(slots, size, level is not None),
    }
