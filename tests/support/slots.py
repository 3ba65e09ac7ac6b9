"""Slots of a path as `derive.capacity.slots` makes them: a tenth of a second each."""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.derive import capacity, full_slots
from tests.support.frames import MS

WIDTH = 100 * MS


def slots(*stretches: dict[str, Any]) -> list[full_slots.Slot]:
    """Slots of ``stretches`` after each other: `count` each, other values over a full path."""
    made: list[dict[str, Any]] = []
    for stretch in stretches:
        for _ in range(stretch.get("count", 1)):
            made.append(_slot(len(made), stretch))
    schema = capacity.COLUMNS | {"noise_us": pl.Float64()}
    return full_slots.of_rows(pl.LazyFrame(made, schema=schema))


def _slot(index: int, values: dict[str, Any]) -> dict[str, Any]:
    plain = {
        "source": 0,
        "path": "a>b",
        "flows": 1,
        "slot": index,
        "start_ns": index * WIDTH,
        "end_ns": (index + 1) * WIDTH,
        "first_ns": index * WIDTH,
        "last_ns": (index + 1) * WIDTH,
        "delivered_bps": 50e6,
        "train_bps": 50e6,
        "probe_bps": None,
        "marks": 2.0,
        "acked": 400.0,
        "lost": 0.0,
        "least_us": 10_000.0,
        "queue_us": 0.0,
        "floor_us": 0.0,
        "peak_us": 500.0,
        "base_us": 10_000.0,
        "held_back": 0.0,
        "full_bps": None,
        "noise_us": 0.0,
    }
    return plain | {name: value for name, value in values.items() if name != "count"}
