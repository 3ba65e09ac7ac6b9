"""Slow start filled the queue far beyond what the path holds.

What it checks
--------------
The first latency spike of each flow, if it lies at the start of the flow: whether the packets in
flight until its end peaked at three times the median of the flow or more, and how long it lasted.

Why it matters
--------------
Every doubling after the path is full becomes delay for all who share the queue: up to hundreds of
milliseconds at the start of each download.

Evidence
--------
`spikes.start_ns`, `end_ns`, `height_us` and `cause`; `rounds.inflight_max_packets` and
`retransmits`.

When it is wrong
----------------
If the path became slower at the same moment, or another flow joined: `spikes.cause` then gives
another cause, and the finding has medium confidence.

What to do
----------
Pace slow start and leave it earlier (HyStart++); with Prague check how alpha starts (L4S205).

References
----------
tsvwg L4S issue 17; L4STeam/linux issue 17; RFC 9406 (HyStart++)
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects
from l4strace.wording.quantities import count

CODE = "L4S204"
EARLY_NS = 5_000_000_000
"""Age of the flow up to which a spike belongs to its start: from 10 packets (RFC 6928) slow start
reaches 10,000 in ten round trips, which is 2 s at 200 ms; twice that and more."""

EARLY_SHARE = 0.25
"""The same as a share of the flow's life, for short flows: by eye."""

OVERSHOOT = 3.0
"""Packets in flight at the peak as a multiple of the median: by eye, above the factor of 2 by which
the last doubling of slow start exceeds the path (RFC 5681 section 3.1)."""

LONG_NS = 1_000_000_000
"""Length from which the overshoot is a warning: as in L4S503."""

MIN_ROUNDS = 20
"""Rounds from which the median stands for the flow: by eye, as in the derived tables."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose first spike comes from its own slow start."""
    rounds = subjects.rounds(evidence)
    flights = rounds.group_by(subjects.KEY).agg(
        pl.len().alias("rounds"),
        pl.col("start_ns").min().alias("began_ns"),
        pl.col("end_ns").max().alias("ended_ns"),
        pl.col("inflight_max_packets").median().alias("settled"),
    )
    first = (
        subjects.once(evidence, evidence.spikes)
        .sort("start_ns")
        .unique(subjects.KEY, keep="first", maintain_order=True)
    )
    flights = flights.join(_peaks(rounds, first), on=subjects.KEY)
    early = (pl.col("start_ns") - pl.col("began_ns") < EARLY_NS) & (
        pl.col("start_ns") - pl.col("began_ns")
        < EARLY_SHARE * (pl.col("ended_ns") - pl.col("began_ns"))
    )
    overshot = first.join(flights, on=subjects.KEY, suffix="_flight").filter(
        early
        & (pl.col("rounds_flight") >= MIN_ROUNDS)
        & (pl.col("peak") >= OVERSHOOT * pl.col("settled"))
    )
    return [_finding(row) for row in overshot.iter_rows(named=True)]


def _peaks(rounds: pl.DataFrame, spikes: pl.DataFrame) -> pl.DataFrame:
    """Most packets in flight until the end of the spike, and retransmissions during it."""
    spans = spikes.select(*subjects.KEY, first_ns="start_ns", last_ns="end_ns")
    until = rounds.join(spans, on=subjects.KEY).filter(pl.col("start_ns") <= pl.col("last_ns"))
    during = pl.col("start_ns") >= pl.col("first_ns")
    return until.group_by(subjects.KEY).agg(
        pl.col("inflight_max_packets").max().alias("peak"),
        pl.col("retransmits").fill_null(0).filter(during).sum().alias("lost"),
    )


def _finding(row: dict[str, Any]) -> Finding:
    length_ns = row["end_ns"] - row["start_ns"]
    certain = row["cause"] == "slow-start"
    verb = "overshot" if certain else "probably overshot"
    lost = f", with {count(row['lost'], 'retransmission')}" if row["lost"] else ""
    return Finding(
        CODE,
        Severity.WARNING if length_ns >= LONG_NS else Severity.NOTICE,
        Confidence.HIGH if certain else Confidence.MEDIUM,
        f"Slow start {verb}: up to {row['peak']:,} packets were in flight (median of the flow "
        f"{row['settled']:,.0f}), and queue delay reached {row['height_us'] / 1000:.0f} ms in a "
        f"spike of {length_ns / 1e9:.1f} s{lost}.",
        "Pace slow start and leave it earlier; with Prague check how alpha starts (L4S205).",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["start_ns"], row["end_ns"]),
        frames=tuple(f for f in (row["first_frame"], row["last_frame"]) if f is not None),
        measures=(
            Measure(
                "peak in flight", row["peak"], "packet", f"below {OVERSHOOT * row['settled']:.0f}"
            ),
            Measure("highest queue delay", row["height_us"], "us"),
        ),
    )


RULE = Rule(
    CODE, "slow-start-overshoot", "Slow start far beyond what the path holds.", check, __doc__
)
