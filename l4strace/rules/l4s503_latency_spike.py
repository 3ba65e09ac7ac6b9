"""Queue delay rose far above its usual level for a while.

What it checks
--------------
Spikes of queue delay: 50 ms or longer, more than 15 ms above the median of the direction and more
than three times as high as it.

Why it matters
--------------
Averages hide them. A single slow-start overshoot or drop of the link rate can delay every packet of
the path for seconds.

Evidence
--------
`spikes.start_ns`, `end_ns`, `height_us`, `usual_us` and `cause`.

When it is wrong
----------------
Wireless hops retransmit and pause by themselves; such delay is not a queue that the sender filled.

What to do
----------
By cause. slow-start: pace it and leave it earlier; an alpha that starts at 0 makes it worse
(L4S205). rate-drop: expect it where the link changes its rate. new-flow: an AQM with per-flow
queues isolates. burst: fix the sender's pacing.

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
"""Length from which a spike is a warning: by eye; a second interrupts a call, shorter spikes are
usual when flows start."""

CAUSES = {
    "slow-start": "Likely cause: slow start",
    "rate-drop": "Likely cause: the bottleneck became slower",
    "new-flow": "Likely cause: another flow started",
    "burst": "Likely cause: a burst of the sender",
    "loss": "Packets were retransmitted in it",
    "unknown": "Its cause is unknown",
}


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction with spikes: the longest, and how many there are."""
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
    start = subjects.moment(evidence, row["start_ns"])
    more = f" It is the longest of {row['spikes']:,} spikes." if row["spikes"] > 1 else ""
    return Finding(
        CODE,
        Severity.WARNING if length >= LONG_S else Severity.NOTICE,
        Confidence.LOW if row["cause"] == "unknown" else Confidence.MEDIUM,
        f"Latency spike of {length:.1f} s from {start}: queue delay reached "
        f"{row['height_us'] / 1000:.0f} ms (usually {row['usual_us'] / 1000:.1f} ms). "
        f"{CAUSES[row['cause']]}.{more}",
        "Check the window and the marks at its start.",
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
