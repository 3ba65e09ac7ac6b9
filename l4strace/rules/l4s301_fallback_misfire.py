"""Prague took an L4S AQM for a classic one and backed off like a classic flow.

What it checks
--------------
Whether the kernel's score `classic_ecn` was above 8 in at least a tenth of the detector's steps
(and of the time) although nothing it measured explains that: the medians of its two inputs, queue
delay and RTT mean deviation, were below 90 % of their thresholds (2000 us and 750 us), or the build
has the scaling bug behind an L4S AQM, and a replay with correct thresholds stays below 8 (else
L4S303). The packets must not show a classic AQM. A score that no reduction used is a notice:
prague_ecn_fallback=2, which all flows of a host show together, or no mark since the score rose (of
flows with at least 20 steps). A log that holds only counters (bpftrace maps) is judged by the
shares that they give.

Why it matters
--------------
From a score of 9 every reduction at CE is at least 31 % (from 8 to 9 the floor grows to it), where
alpha/2 is one or two percent. An L4S AQM marks many packets per second, so the flow starves: in the
published study it gets 8 Mbit/s beside 52 Mbit/s of one CUBIC flow (64 Mbit/s, 32 ms).

Evidence
--------
`detector.score`, `mdev_us`, `depth_us`, `score_fixed` and `build` of the steps that the kernel
recorded; `bottlenecks.kind` and `confidence`, which follow from packets alone; `cuts.law`, which
shows whether the kernel acts on the score; `kernel.delivered_ce` (whether marks came at all); the
counters of bpftrace scripts. `rounds` gives the frames.

When it is wrong
----------------
Where no classic flow shows how the AQM treats others, or no capture shows the AQM, it may be one
queue that marks all flows early: the finding then has medium confidence. If the score rose on a
classic path and the path then changed: the score falls slowly. The finding gives queue delay and
deviation of the steps above 8: compare them with the path.

What to do
----------
Use a kernel with the correct thresholds, or set prague_ecn_fallback=0 on paths that are known to be
L4S. L4STeam kernels from 6.1 on have no detector.

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
    BUGGY,
    MIN_SHARE,
    MIN_STEPS,
    explained,
    floorless,
    inputs_are_high,
    marks_since,
    part_of_time_since,
    steps,
    unused,
    without_score,
)
from l4strace.schema.words import CLASSIC_OR_PER_FLOW
from l4strace.wording.quantities import milliseconds, share

CODE = "L4S301"
ACTION = "Run a kernel with the correct thresholds, or set prague_ecn_fallback=0 on this host."
HIGH_INPUTS = (
    "queue delay or RTT deviation is above its threshold, and the bottleneck is not shown to be L4S"
)
CLASSIC_KINDS = ("classic", "shallow", "per-flow", CLASSIC_OR_PER_FLOW)
"""Kinds of bottleneck on which a high score is not a misfire."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction with a classic score and inputs below the thresholds."""
    recorded = steps(evidence)
    results: list[Finding | Skipped] = _from_aggregates(evidence)
    if recorded.is_empty():
        return results or [Skipped(CODE, without_score(evidence))]
    judged = (
        recorded.join(subjects.bottlenecks(evidence), on=subjects.DIRECTION, how="left")
        .join(floorless(evidence), on="log", how="left")
        .join(marks_since(evidence), on=subjects.DIRECTION, how="left")
    )
    wrong = judged.filter(
        (pl.col("classic_share") >= MIN_SHARE)
        & (pl.col("classic_time") >= MIN_SHARE)
        & pl.col("classic_mdev_us").is_not_null()
        & pl.col("classic_depth_us").is_not_null()
        & ~pl.col("kind").is_in(CLASSIC_KINDS).fill_null(False)
    )
    for row in wrong.iter_rows(named=True):
        if row["marks_since"] == 0 and row["steps"] < MIN_STEPS:
            continue  # Of a short flow that no mark meets, the score says nothing.
        if row["kind"] != "l4s" and inputs_are_high(row):
            # The build may be wrong (L4S302), and a classic AQM may justify what it does.
            results.append(Skipped(CODE, HIGH_INPUTS))
        elif not explained(row):
            results.append(_finding(evidence, row))
    return results


def _finding(evidence: Evidence, row: dict[str, Any]) -> Finding:
    # Without a classic flow, an AQM that marks all flows early looks the same.
    proven = subjects.proven_l4s(row)
    where = " behind an L4S AQM" if proven else ""
    since = subjects.moment(evidence, row["classic_since_ns"])
    message = (
        f"Prague's classic-ECN fallback misfired{where}: from {since} {_effect(row)} although "
        f"{_inputs(row)}.{_proof(row)}"
    )
    return Finding(
        CODE,
        # Nothing is reduced by a score that is only observed, nor where no mark comes.
        Severity.NOTICE if unused(row) else Severity.ERROR,
        Confidence.HIGH if proven else Confidence.MEDIUM,
        message,
        ACTION,
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["classic_since_ns"], row["last_ns"]),
        **subjects.at(evidence, row, row["classic_since_ns"]),
        measures=(
            Measure("steps with a score above 8", row["classic_share"], "share", "0 on an L4S AQM"),
            Measure("time with a score above 8", row["classic_time"], "share", "0 on an L4S AQM"),
            Measure("queue delay", row["classic_depth_us"], "us", "at least 2 ms when classic"),
            Measure("RTT deviation", row["classic_mdev_us"], "us", "at least 0.75 ms when classic"),
            Measure("the same steps, correct thresholds", row["fixed_share"] or 0.0, "share"),
        ),
    )


def _effect(row: dict[str, Any]) -> str:
    """What the score did: nothing is reduced by prague_ecn_fallback=2, nor where no mark comes."""
    part = part_of_time_since(row)
    if row["marks_since"] == 0:
        return f"its score was above 8{part}, with no mark to respond to,"
    if unused(row):
        return f"its score was above 8{part}, which no reduction used,"
    return f"it backed off like a classic flow{part}"


def _inputs(row: dict[str, Any]) -> str:
    """Why the score should have stayed low."""
    depth, mdev = milliseconds(row["classic_depth_us"]), milliseconds(row["classic_mdev_us"], 2)
    shown = f"queue delay ({depth}, threshold 2 ms) and RTT deviation ({mdev}, threshold 0.75 ms)"
    if not inputs_are_high(row):
        return f"{shown} stayed low"
    fixed = row["fixed_share"] or 0.0
    if fixed < MIN_SHARE:
        return f"correct thresholds keep the score below 8 at this {shown}"
    return f"correct thresholds put it there in {share(fixed)} of its steps only, at this {shown}"


def _proof(row: dict[str, Any]) -> str:
    if row["build"] == BUGGY:
        return " Its arithmetic matches the 24-bit build with the scaling bug."
    return ""


def _from_aggregates(evidence: Evidence) -> list[Finding | Skipped]:
    """Verdict on counters without time: how many cuts were classic, how many inputs were low."""
    cuts, inputs = aggregates.zones(evidence.aggregates), aggregates.inputs(evidence.aggregates)
    if cuts is None and inputs is None:
        return []
    if cuts is None:
        return [Skipped(CODE, "the counters show the detector's inputs, not its score")]
    if inputs is None:
        return [_half_known(cuts)] if cuts.classic_share >= MIN_SHARE else []
    if cuts.classic_share < MIN_SHARE or inputs.low_share < 1 - MIN_SHARE:
        return []
    return [
        Finding(
            CODE,
            Severity.ERROR,
            Confidence.HIGH,
            f"Prague's classic-ECN fallback misfired: it made {cuts.text} although {inputs.text}.",
            ACTION,
            measures=(
                Measure("classic reductions", cuts.classic_share, "share", "0 on an L4S AQM"),
                Measure("mean queue delay", inputs.depth_us, "us", "at least 2 ms when classic"),
                Measure("mean RTT deviation", inputs.mdev_us, "us", "at least 0.75 ms"),
            ),
        )
    ]


def _half_known(cuts: aggregates.Zones) -> Finding:
    return Finding(
        CODE,
        Severity.NOTICE,
        Confidence.LOW,
        f"Prague's classic-ECN fallback made {cuts.text}. Behind an L4S AQM this is a "
        "misfire, but the counters do not show the AQM.",
        "Record the packets or the detector's inputs of the same run.",
        measures=(Measure("classic reductions", cuts.classic_share, "share", "0 on an L4S AQM"),),
    )


RULE = Rule(CODE, "fallback-misfire", "Classic-ECN fallback behind an L4S AQM.", check, __doc__)
