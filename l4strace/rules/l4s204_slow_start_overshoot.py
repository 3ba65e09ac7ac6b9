"""Slow start filled the queue far beyond what the path holds.

What it checks
--------------
Latency spikes that a flow's own slow start made: how high, how long, how many packets it had in
flight against those that fill the path, and which flows waited.

Why it matters
--------------
Every doubling after the path is full becomes delay for all who share the queue: up to hundreds of
milliseconds at the start of each download.

Evidence
--------
`spikes.start_ns`, `end_ns`, `height_us`, `one_way`, `cause`, `culprit`, `hit`, `peak_packets`,
`fills_packets` and `lost`.

When it is wrong
----------------
If the path became slower or another flow joined at the same moment. From RTTs alone the height is
less sure where packets were lost, as lost packets have none; where the snaplen cut off SACK
(`directions.options_cut` of the ACKs) it is a lower bound.

What to do
----------
Pace slow start and leave it earlier (HyStart++); with Prague check how alpha starts (L4S205).

References
----------
tsvwg L4S issue 17; L4STeam/linux issue 17; RFC 9406 (HyStart++)
"""

import polars as pl

from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import clocks, datagrams, events, subjects
from l4strace.wording.quantities import count

OVERSHOOT = 2.0
"""Packets in flight as a multiple of those that fill the path, from which the overshoot is beyond
doubt: the last doubling of slow start alone makes 2 (RFC 5681 section 3.1)."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each slow start: the highest of its spikes, and how many there are."""
    episodes = events.episodes(subjects.once(evidence, evidence.spikes))
    of = ["path", "culprit"]
    highest = (
        episodes.filter(pl.col("cause") == "slow-start")
        .with_columns(pl.col("spikes").sum().over(of))
        .unique(of, keep="first", maintain_order=True)
        .sort("start_ns")
    )
    found = [_finding(evidence, row) for row in highest.iter_rows(named=True)]
    unread = datagrams.unread(datagrams.flows(evidence))
    return clocks.measurable(evidence, [*found, *unread])


def _finding(evidence: Evidence, row: Row) -> Finding:
    length_ns = row["above_ns"]
    fills, peak = row["fills_packets"] or 0.0, row["peak_packets"] or 0
    certain = row["one_way"] or peak >= OVERSHOOT * fills > 0
    lost = f" {count(row['lost'], 'packet')} retransmitted." if row["lost"] else ""
    reached = events.height(evidence, row, row["culprit"])
    prague = row["culprit"] in subjects.scalable(evidence)["flow"]
    more = (
        f" It is the highest of {row['spikes']:,} spikes of this slow start."
        if row["spikes"] > 1
        else ""
    )
    alpha = "; check how alpha starts (L4S205)" if prague else ""
    return Finding(
        Severity.WARNING if length_ns >= events.LONG_NS else Severity.NOTICE,
        Confidence.HIGH if certain else Confidence.MEDIUM,
        f"Slow start {'overshot' if certain else 'probably overshot'}: {_flight(fills, peak)}, and "
        # It was at its height for a moment, and long above what it mostly is.
        f"{reached}; it was above its usual range for {length_ns / 1e9:.1f} s from "
        f"{subjects.moment(evidence, row['start_ns'])}.{events.others(row, row['culprit'])}"
        f"{lost}{more}",
        f"Pace slow start and leave it earlier{alpha}.",
        source=row["source"],
        flow=row["culprit"],
        forward=row["forward"],
        span_ns=(row["start_ns"], row["end_ns"]),
        frames=(row["first_frame"], row["last_frame"]),
        measures=(
            Measure("peak in flight", peak, "packet", _limit(fills, peak)),
            Measure("largest delay", row["height_us"], "us"),
            Measure("retransmitted", row["lost"] or 0, "packet"),
        ),
    )


def _flight(fills: float, peak: int) -> str:
    """`up to 84 packets were in flight (42 fill the path)`."""
    full = f" ({events.fills(fills)} the path)" if fills else ""
    return f"up to {peak:,} packets were in flight{full}"


def _limit(fills: float, peak: int) -> str:
    """Expected peak in words; empty where other flows filled the path, too."""
    if not fills or peak < fills:
        return ""
    if peak < OVERSHOOT * fills:
        return f"at most {max(fills, 1):,.0f}"
    return f"below {max(OVERSHOOT * fills, 1):,.0f}"


RULE = Rule.of(__name__, __doc__, check, "Slow start overshot the path")
