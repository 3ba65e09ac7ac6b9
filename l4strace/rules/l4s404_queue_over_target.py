"""The queue stands well above what its AQM should hold it at.

What it checks
--------------
The median queue delay of a direction against the target of its kind of bottleneck: 1 ms for ECT(1)
through an L4S AQM, 15 ms for a classic one, and 100 ms for a queue without marks.

Why it matters
--------------
Low delay is what L4S is for. A standing queue means a sender that does not respond, an AQM with a
loose target, or a second queue in front of it.

Evidence
--------
`bottlenecks.queue_delay_us`, `serialisation_us`.

When it is wrong
----------------
With jitter (Wi-Fi) the RTT above its minimum is not all queue.

What to do
----------
Check the AQM's target and whether another hop queues; look for a flow that ignores its marks.

References
----------
sch_dualpi2.c (step 1 ms, target 15 ms); RFC 8289 (5 ms)
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects

CODE = "L4S404"
TARGET_US = {"l4s": 1_000.0, "shallow": 1_000.0, "classic": 15_000.0, "per-flow": 15_000.0}
UNMARKED_US = 100_000.0
"""A FIFO has no target; a tenth of a second is what interactive use notices (ITU-T G.114: 150 ms
mouth to ear)."""

TIMES_TARGET, PACKETS = 2.0, 2.0
"""Twice the target, plus two packets' time on a slow link."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose median queue delay exceeds its target."""
    told = subjects.once(evidence, evidence.bottlenecks).filter(pl.col("kind") != "unknown")
    if told.is_empty():
        return [Skipped(CODE, "no bottleneck could be told")]
    scalable = set(subjects.scalable(evidence).rows())
    said: list[Finding | Skipped] = []
    for row in told.iter_rows(named=True):
        ect1 = (row["source"], row["flow"], row["forward"]) in scalable
        target = _target(row["kind"], ect1)
        allowed = TIMES_TARGET * target + PACKETS * (row["serialisation_us"] or 0.0)
        if row["kind"] == "fifo":
            allowed = UNMARKED_US
        if (row["queue_delay_us"] or 0.0) > allowed:
            said.append(_finding(row, target))
    return said


def _target(kind: str, ect1: bool) -> float:
    if kind == "l4s" and not ect1:
        # The classic queue of a dual-queue AQM.
        return TARGET_US["classic"]
    return TARGET_US.get(kind, UNMARKED_US)


def _finding(row: dict[str, Any], target: float) -> Finding:
    queue = row["queue_delay_us"] / 1000
    return Finding(
        CODE,
        Severity.WARNING,
        Confidence.MEDIUM,
        f"The queue stands at {queue:.1f} ms where {target / 1000:.0f} ms would do.",
        "Check the AQM's target, a second queue in front of it, and flows that ignore marks.",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        measures=(Measure("queue delay, median", row["queue_delay_us"], "us", f"{target:.0f} us"),),
    )


RULE = Rule(CODE, "queue-over-target", "Queue well above its target.", check, __doc__)
