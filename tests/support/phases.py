"""Phases of one path between the two networks of the default flow."""

from __future__ import annotations

from typing import Any

import polars as pl

from tests.support.frames import MS, frame


def phases(*capacities_mbit: float, **columns: Any) -> pl.DataFrame:
    """One phase of five seconds for each capacity, filled and marked all the time."""
    count = len(capacities_mbit)
    plain = {
        "path": "10.0.1.0/24>10.0.3.0/24",
        "phase": list(range(count)),
        "start_ns": [5_000 * MS * n for n in range(count)],
        "end_ns": [5_000 * MS * (n + 1) for n in range(count)],
        "changed": [None, *["capacity"] * (count - 1)],
        "capacity_bps": [1e6 * c for c in capacities_mbit],
        "capacity_shown": True,
        "rate_bps": [1e6 * c for c in capacities_mbit],
        "busy_share": 1.0,
        "base_rtt_us": 10_000.0,
        "marks": 100,
        "losses": 0,
        "ramp_ns": 500 * MS,
        "low_ns": 0,
        "low_share": 0.0,
    }
    return frame("phases", **(plain | columns))
