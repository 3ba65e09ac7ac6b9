"""The fallback fired, and the path is classic: as intended.

What it checks
--------------
Whether the kernel's score stood above 8 for at least a tenth of the detector's steps on a path
where the packets show a classic AQM.

Why it matters
--------------
It is the opposite verdict of a misfire and worth saying: the build works.

Evidence
--------
`detector`, `bottlenecks`, `coexistence`.

When it is wrong
----------------
A lone flow cannot show whether the queue is shared; the class then has half the confidence.

What to do
----------
Nothing on the sender. An operator who wants L4S deploys an L4S AQM.

References
----------
arXiv 1911.00710v3; RFC 9331 section 4.3
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects
from l4strace.rules.support.fallback_states import (
    DEPTH_US,
    MDEV_US,
    MIN_SHARE,
    steps,
    without_score,
)

CODE = "L4S309"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction that fell back where it should."""
    recorded = steps(evidence)
    if recorded.is_empty():
        return [Skipped(CODE, without_score(evidence))]
    fired = recorded.filter(pl.col("classic_share") >= MIN_SHARE)
    judged = fired.join(subjects.bottlenecks(evidence), on=subjects.DIRECTION, how="left")
    right = judged.filter(pl.col("kind").is_in(["classic", "shallow"]))
    asked = (pl.col("classic_mdev_us") >= MDEV_US) | (pl.col("classic_depth_us") >= DEPTH_US)
    unseen = judged.filter(pl.col("kind").is_null() & asked)
    return [
        *(_finding(evidence, row) for row in right.iter_rows(named=True)),
        *(_by_inputs(evidence, row) for row in unseen.iter_rows(named=True)),
    ]


def _finding(evidence: Evidence, row: dict[str, Any]) -> Finding:
    at = (row["marking_delay_us"] or 0.0) / 1000
    since = subjects.moment(evidence, row["classic_since_ns"])
    sure = row["confidence"] >= subjects.ISOLATED_CONFIDENCE
    return Finding(
        CODE,
        Severity.INFO,
        Confidence.HIGH if sure else Confidence.MEDIUM,
        f"Fallback justified: classic since {since} on a classic AQM that marks from {at:.1f} ms.",
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["classic_since_ns"], row["last_ns"]),
        measures=(
            Measure("time above 8", row["classic_share"], "share", "near 1 on a classic AQM"),
            Measure("queue depth", row["classic_depth_us"], "us", "2000 us and more"),
            Measure("RTT mean deviation", row["classic_mdev_us"], "us"),
        ),
    )


def _by_inputs(evidence: Evidence, row: dict[str, Any]) -> Finding:
    """Without packets only the detector's own inputs speak for it."""
    since = subjects.moment(evidence, row["classic_since_ns"])
    depth, mdev = row["classic_depth_us"] / 1000, row["classic_mdev_us"] / 1000
    return Finding(
        CODE,
        Severity.INFO,
        Confidence.LOW,
        f"Fallback fired as its inputs ask: classic since {since} with {depth:.1f} ms of depth and "
        f"{mdev:.2f} ms of deviation; only packets could show whether the AQM is classic.",
        "Record packets together with the kernel log.",
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["classic_since_ns"], row["last_ns"]),
        measures=(Measure("time above 8", row["classic_share"], "share"),),
    )


RULE = Rule(CODE, "fallback-justified", "Fallback on a classic AQM, as intended.", check, __doc__)
