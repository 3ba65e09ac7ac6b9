"""Slow start filled the queue far beyond what the path holds.

What it checks
--------------
The start of each flow: the most that was in flight before its first lasting reduction against what
the flow settles at, and how long the queue stayed high.

Why it matters
--------------
Every doubling after the path is full becomes delay for all who share the queue: hundreds of
milliseconds, for seconds, at the begin of each download.

Evidence
--------
`rounds.inflight_max_packets`, `queue_delay_us`, `retransmits`; `spikes`.

When it is wrong
----------------
If the path became slower at the same moment, or another flow joined.

What to do
----------
Pace and exit slow start earlier (HyStart++); with Prague check how alpha starts (L4S205).

References
----------
tsvwg L4S issue 17; L4STeam/linux issue 17
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects

CODE = "L4S204"
EARLY_NS = 5_000_000_000
"""A spike that begins later than this is not from the start of the flow."""

EARLY_SHARE = 0.25
OVERSHOOT = 3.0
"""Flight at the peak against the median of the rest: 2 is a full buffer of one bandwidth-delay
product, as slow start makes."""

LONG_NS = 1_000_000_000
MIN_ROUNDS = 20


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose first spike comes from its own slow start."""
    rounds = subjects.rounds(evidence)
    flights = rounds.group_by(subjects.KEY).agg(
        pl.len().alias("rounds"),
        pl.col("start_ns").min().alias("began_ns"),
        pl.col("end_ns").max().alias("ended_ns"),
        pl.col("inflight_max_packets").max().alias("peak"),
        pl.col("inflight_max_packets").median().alias("settled"),
        pl.col("retransmits").fill_null(0).sum().alias("lost"),
    )
    first = (
        subjects.once(evidence, evidence.spikes)
        .sort("start_ns")
        .unique(subjects.KEY, keep="first", maintain_order=True)
    )
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


def _finding(row: dict[str, Any]) -> Finding:
    length_ns = row["end_ns"] - row["start_ns"]
    lost = f", with {row['lost']:,} retransmissions" if row["lost"] else ""
    return Finding(
        CODE,
        Severity.WARNING if length_ns >= LONG_NS else Severity.NOTICE,
        Confidence.HIGH if row["cause"] == "slow-start" else Confidence.MEDIUM,
        f"Slow start overshot: {row['peak']:,} packets in flight where {row['settled']:.0f} fill "
        f"the path, {row['height_us'] / 1000:.0f} ms of queue for {length_ns / 1e9:.1f} s{lost}.",
        "Pace and exit slow start earlier; with Prague check how alpha starts (L4S205).",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["start_ns"], row["end_ns"]),
        frames=tuple(f for f in (row["first_frame"], row["last_frame"]) if f is not None),
        measures=(
            Measure("peak in flight", row["peak"], "packet", f"about {2 * row['settled']:.0f}"),
            Measure("highest queue delay", row["height_us"], "us"),
        ),
    )


RULE = Rule(CODE, "slow-start-overshoot", "Slow start far beyond the path.", check, __doc__)
