"""Prague took an L4S AQM for a classic one and cut like a classic flow.

What it checks
--------------
Whether the kernel's score `classic_ecn` stood above 8 for at least a tenth of the detector's steps
while queue depth and RTT mean deviation, its own inputs, stayed below the references (2000 us and
750 us), and whether the packets show an L4S AQM. Logs that hold only counters (bpftrace maps) are
judged by their shares.

Why it matters
--------------
Above 8 every reduction is at least 31 % instead of alpha/2 of one or two percent. On an L4S AQM,
which marks many packets a second, that starves the flow: 8 of 50 Mbit/s against one CUBIC flow.

Evidence
--------
`detector` (recorded steps), `bottlenecks` (packets alone), residues of the steps as the build's
fingerprint.

When it is wrong
----------------
A score that rose on a classic path and stays up for a while after the path changed. The depth and
deviation of the time above 8 are given: compare them with the path.

What to do
----------
Use a kernel with the correct references, or set prague_ecn_fallback=0 on paths that are known to be
L4S. On 6.x kernels the detector does not exist.

References
----------
L4STeam/linux issue 38; Greenscreen23/prague-fallback-experiments; tcp_prague.c of L4STeam kernels
up to 5.15, prague_classic_ecn_detection
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import aggregates, subjects
from l4strace.rules.support.fallback_states import (
    DEPTH_US,
    MDEV_US,
    MIN_SHARE,
    steps,
    without_score,
)

CODE = "L4S301"
ACTION = "Run a kernel with the correct references, or set prague_ecn_fallback=0 on this host."
CLASSIC_KINDS = ("classic", "shallow", "per-flow")
"""Bottlenecks on which a high score is no misfire."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction that was classic although its inputs say L4S."""
    recorded = steps(evidence)
    said: list[Finding | Skipped] = _from_aggregates(evidence)
    if recorded.is_empty():
        return said or [Skipped(CODE, without_score(evidence))]
    judged = recorded.join(subjects.bottlenecks(evidence), on=subjects.DIRECTION, how="left")
    low = (pl.col("classic_mdev_us") < MDEV_US) & (pl.col("classic_depth_us") < DEPTH_US)
    wrong = judged.filter(
        (pl.col("classic_share") >= MIN_SHARE)
        & low
        & ~pl.col("kind").is_in(CLASSIC_KINDS).fill_null(False)
    )
    return said + [_finding(evidence, row) for row in wrong.iter_rows(named=True)]


def _finding(evidence: Evidence, row: dict[str, Any]) -> Finding:
    proven = row["kind"] == "l4s"
    where = " on an L4S AQM" if proven else ""
    depth, mdev = row["classic_depth_us"] / 1000, row["classic_mdev_us"] / 1000
    since = subjects.moment(evidence, row["classic_since_ns"])
    message = (
        f"Fallback misfired{where}: classic since {since} while depth was {depth:.1f} ms of 2 ms "
        f"and deviation {mdev:.2f} ms of 0.75 ms{_proof(row)}."
    )
    return Finding(
        CODE,
        Severity.ERROR,
        Confidence.HIGH if proven or row["fixed_share"] == 0 else Confidence.MEDIUM,
        message,
        ACTION,
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["classic_since_ns"], row["last_ns"]),
        **subjects.at(evidence, row, row["classic_since_ns"]),
        measures=(
            Measure("time classic", row["classic_share"], "share", "0 on an L4S AQM"),
            Measure("queue depth", row["classic_depth_us"], "us", "2000 us and more when classic"),
            Measure("RTT mean deviation", row["classic_mdev_us"], "us", "750 us and more"),
            Measure("replay with correct references above 8", row["fixed_share"] or 0.0, "share"),
        ),
    )


def _proof(row: dict[str, Any]) -> str:
    if row["build"] == "24-bit buggy":
        return "; the steps carry the residues of the buggy 24-bit build"
    return ""


def _from_aggregates(evidence: Evidence) -> list[Finding | Skipped]:
    """Verdict on counters without time: how many cuts were classic, how many inputs were low."""
    cuts, inputs = aggregates.zones(evidence.aggregates), aggregates.inputs(evidence.aggregates)
    if cuts is None and inputs is None:
        return []
    if cuts is None:
        return [Skipped(CODE, "the counters are of the detector's inputs, not of its verdicts")]
    if inputs is None:
        return [_half_known(cuts)] if cuts.classic_share >= MIN_SHARE else []
    if cuts.classic_share < MIN_SHARE or inputs.low_share < 1 - MIN_SHARE:
        return []
    return [
        Finding(
            CODE,
            Severity.ERROR,
            Confidence.HIGH,
            f"Fallback misfired: {cuts.text} although {inputs.text}.",
            ACTION,
            measures=(
                Measure("classic cuts", cuts.classic_share, "share", "0 on an L4S AQM"),
                Measure("mean queue depth", inputs.depth_us, "us", "2000 us when classic"),
                Measure("mean RTT deviation", inputs.mdev_us, "us", "750 us when classic"),
            ),
        )
    ]


def _half_known(cuts: aggregates.Zones) -> Finding:
    return Finding(
        CODE,
        Severity.NOTICE,
        Confidence.LOW,
        f"Fallback acts: {cuts.text}; a misfire if the AQM is L4S, which this log cannot show.",
        "Record the detector's inputs or the packets of the same run.",
        measures=(Measure("classic cuts", cuts.classic_share, "share", "0 on an L4S AQM"),),
    )


RULE = Rule(CODE, "fallback-misfire", "Classic fallback on an L4S AQM.", check, __doc__)
