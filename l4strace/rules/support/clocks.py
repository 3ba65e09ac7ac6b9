"""Captures whose clock was set while they ran, or with two clocks: their times mislead."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Finding, Skipped

REPEATED = 3
"""Steps backwards that spoil a run: one or two spoil single rounds. By eye."""

REASON = "the clock of the capture was set while it ran (L4S006)"


def spoiled(evidence: Evidence) -> list[int]:
    """Sources whose clock was set forward, or back at least `REPEATED` times."""
    forward = pl.col("clock_ahead_ns").fill_null(0) > 0
    back = pl.col("clock_steps").fill_null(0) >= REPEATED
    return evidence.directions.filter(forward | back)["source"].unique().sort().to_list()


MIXED_NS = 1_000_000
"""Difference of two clocks from which delays mean something else: DualPI2's step."""

MIXED = "two interfaces of the capture have clocks that differ (L4S014)"


def by_one_clock(
    evidence: Evidence, results: Sequence[Finding | Skipped]
) -> list[Finding | Skipped]:
    """``results`` without findings on delays and losses where a capture has two clocks.

    A packet and its acknowledgement are then timed by both, and copies look like retransmissions.
    """
    mixed = evidence.sources.filter(pl.col("interfaces_apart_hi_ns") >= MIXED_NS)["source"]
    sources = set(mixed)
    return [
        Skipped(one.rule, MIXED, one.flow)
        if isinstance(one, Finding) and one.source in sources
        else one
        for one in results
    ]
