"""Delay rose far above its usual level for a while.

What it checks
--------------
Spikes of queue delay: more than 15 ms and three times the usual above it, for 50 ms or longer.

Why it matters
--------------
Averages hide them. A single slow-start overshoot or a drop of the link rate can hold every
packet of the path back for seconds.

Evidence
--------
`spikes`: start, height, length, and what happened at the same time.

When it is wrong
----------------
Wireless hops retransmit and pause on their own; such delay is not a queue that the sender filled.

What to do
----------
By cause. slow-start: pace and exit earlier; an alpha that starts at 0 makes it worse (L4S205).
rate-drop: expect it where the link changes rate. new-flow: an AQM with per-flow queues isolates.
burst: fix the sender's pacing.

References
----------
tsvwg L4S issue 17; heistp/sce-l4s-bakeoff
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects

CODE = "L4S503"
LONG_S = 1.0
"""A spike of a second is noticed by whoever uses the path; shorter ones are start-up and noise."""

CAUSES = {
    "slow-start": "slow start overshot",
    "rate-drop": "the bottleneck became slower",
    "new-flow": "another flow began",
    "burst": "the sender sent a burst",
    "loss": "packets were lost",
    "unknown": "no cause shows",
}


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction with spikes: the longest, and how many there were."""
    spikes = subjects.once(evidence, evidence.spikes).with_columns(
        (pl.col("end_ns") - pl.col("start_ns")).alias("length_ns"),
        pl.len().over(subjects.KEY).alias("spikes"),
    )
    longest = spikes.sort("length_ns", descending=True).unique(
        subjects.KEY, keep="first", maintain_order=True
    )
    return [_finding(evidence, row) for row in longest.iter_rows(named=True)]


def _finding(evidence: Evidence, row: dict[str, Any]) -> Finding:
    length = row["length_ns"] / 1e9
    begin = subjects.moment(evidence, row["start_ns"])
    others = row["spikes"] - 1
    more = f" ({others} shorter one{'' if others == 1 else 's'} besides)" if others else ""
    return Finding(
        CODE,
        Severity.WARNING if length >= LONG_S else Severity.NOTICE,
        Confidence.LOW if row["cause"] == "unknown" else Confidence.MEDIUM,
        f"Latency spike of {row['height_us'] / 1000:.0f} ms over {length:.1f} s from {begin} on: "
        f"{CAUSES[row['cause']]}{more}.",
        "Look at the window and the marks at its beginning.",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["start_ns"], row["end_ns"]),
        frames=tuple(f for f in (row["first_frame"], row["last_frame"]) if f is not None),
        measures=(
            Measure("highest queue delay", row["height_us"], "us", "near the usual"),
            Measure("usual queue delay", row["usual_us"], "us"),
            Measure("length", length, "s"),
        ),
    )


RULE = Rule(CODE, "latency-spike", "A spike of queue delay.", check, __doc__)
