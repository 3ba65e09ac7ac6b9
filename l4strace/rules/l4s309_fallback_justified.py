"""The fallback acts behind a classic AQM, as intended.

What it checks
--------------
Whether the kernel's score was above 8 in at least 30 % of the detector's steps on a path where
the packets show a classic AQM. Where packets do not show what the bottleneck is, whether an input
of the detector reached its threshold, and neither jitter nor a slow link explains it (L4S303).

Why it matters
--------------
It is the opposite of a misfire: the build works.

Evidence
--------
`detector.score`, `mdev_us`, `depth_us` and `build`; `bottlenecks.kind`, `confidence` and
`marking_delay_us`; `noise.jitter_us`; `phases.capacity_bps`, `capacity_shown` and `busy_share`.

When it is wrong
----------------
A lone flow cannot show whether other flows share its queue: the finding then leaves it open and has
medium confidence.

What to do
----------
Nothing on the sender. For low delay, deploy an L4S AQM at the bottleneck.

References
----------
arXiv 1911.00710v3; RFC 9331 section 4.3
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import path_causes, subjects
from l4strace.rules.support.fallback_states import (
    BUGGY,
    DEPTH_US,
    MDEV_US,
    MIN_SHARE,
    MISSED,
    part_of_time_since,
    steps,
    without_score,
)
from l4strace.schema.words import CLASSIC_OR_PER_FLOW

CODE = "L4S309"
MARKING = {
    "classic": "a classic AQM that marks",
    "shallow": "an AQM that marks all flows",
    CLASSIC_OR_PER_FLOW: "a classic AQM, on one queue or with a queue per flow, that marks",
}
"""Bottlenecks behind which the fallback is meant to act."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose score is high where it should be."""
    recorded = steps(evidence)
    if recorded.is_empty():
        return [Skipped(CODE, without_score(evidence))]
    # With the scaling bug the score is high behind any AQM: L4S302.
    fired = recorded.filter(
        (pl.col("classic_share") >= MISSED)
        & (pl.col("classic_time") >= MIN_SHARE)
        & (pl.col("build") != BUGGY).fill_null(True)
    )
    judged = fired.join(subjects.bottlenecks(evidence), on=subjects.DIRECTION, how="left").join(
        path_causes.noises(evidence), on=subjects.DIRECTION, how="left"
    )
    right = judged.filter(pl.col("kind").is_in(list(MARKING)))
    high = (pl.col("classic_mdev_us") >= MDEV_US) | (pl.col("classic_depth_us") >= DEPTH_US)
    unseen = judged.filter(pl.col("kind").fill_null("unknown").eq("unknown") & high).to_dicts()
    return [
        *(_finding(evidence, row) for row in right.iter_rows(named=True)),
        # A path that explains the score whatever the AQM is L4S303.
        *(_by_inputs(evidence, row) for row in unseen if not path_causes.whatever_the_aqm(row)),
    ]


def _finding(evidence: Evidence, row: dict[str, Any]) -> Finding:
    delay = row["marking_delay_us"]
    at = "" if delay is None else f" from {delay / 1000:.1f} ms of queue delay"
    since = subjects.moment(evidence, row["classic_since_ns"])
    marks = subjects.hedged(row["confidence"], MARKING[row["kind"]])
    return Finding(
        CODE,
        Severity.INFO,
        subjects.confidence(row["confidence"]),
        f"Prague's detector works as intended: from {since} its score is above 8"
        f"{part_of_time_since(row)} behind {marks}{at}.",
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["classic_since_ns"], row["last_ns"]),
        measures=(
            Measure("steps with a score above 8", row["classic_share"], "share", "near 1"),
            Measure("queue delay", row["classic_depth_us"], "us", "at least 2 ms"),
            Measure("RTT deviation", row["classic_mdev_us"], "us", "at least 0.75 ms"),
        ),
    )


def _by_inputs(evidence: Evidence, row: dict[str, Any]) -> Finding:
    """Without packets only the detector's own inputs can justify the score."""
    since = subjects.moment(evidence, row["classic_since_ns"])
    depth, mdev = row["classic_depth_us"] / 1000, row["classic_mdev_us"] / 1000
    return Finding(
        CODE,
        Severity.INFO,
        Confidence.LOW,
        f"Prague's detector follows its inputs: from {since} its score is above 8, with a queue "
        f"delay of {depth:.1f} ms (threshold 2 ms) and an RTT deviation of {mdev:.2f} ms "
        f"(threshold 0.75 ms). {_open(row)}",
        "" if row["kind"] else "Record packets together with the kernel log.",
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["classic_since_ns"], row["last_ns"]),
        measures=(Measure("steps with a score above 8", row["classic_share"], "share"),),
    )


def _open(row: dict[str, Any]) -> str:
    """Why the AQM is not known."""
    if row["kind"] is None:
        return "Packets would show whether the AQM is classic."
    return "The packets do not show whether the AQM is classic (L4S401 gives the reason)."


RULE = Rule(
    CODE, "fallback-justified", "Fallback behind a classic AQM, as intended.", check, __doc__
)
