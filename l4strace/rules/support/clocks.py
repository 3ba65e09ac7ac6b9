"""Captures whose clock was set while they ran: durations and rates of the run are then wrong."""

from __future__ import annotations

import polars as pl

from l4strace.evidence import Evidence

REPEATED = 3
"""Steps backwards that spoil a run: one or two spoil single rounds. By eye."""

REASON = "the clock of the capture was set while it ran (L4S006)"


def spoiled(evidence: Evidence) -> list[int]:
    """Sources whose clock was set forward, or back at least `REPEATED` times."""
    forward = pl.col("clock_ahead_ns").fill_null(0) > 0
    back = pl.col("clock_steps").fill_null(0) >= REPEATED
    return evidence.directions.filter(forward | back)["source"].unique().sort().to_list()
