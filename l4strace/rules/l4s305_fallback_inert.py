"""A classic AQM is on the path and Prague's fallback does not act.

What it checks
--------------
Whether `classic_ecn` stayed at 0 although the flow was marked and no detector step was recorded or
a correct detector would have exceeded 8; or whether the score was at 9 or more and the reductions
still followed alpha/2. Both are reported only where the packets show one classic queue for all
flows.

Why it matters
--------------
`prague_ecn_fallback` is 0 (off) by default in every version that has it, and 2 only observes. In a
shared RFC 3168 queue Prague then takes the rate of flows that halve at each mark.

Evidence
--------
`kernel.classic_ecn`, `saw_ce` and `delivered_ce`; `detector.score` and `score_fixed`; `cuts.law`
and `classic_ecn` of the kernel's reductions; `bottlenecks.kind` and `confidence`; `coexistence`.

When it is wrong
----------------
A build without the detector that still writes the field as 0 looks the same. The module parameter
of a host file is not read here but by L4S604.

What to do
----------
Set prague_ecn_fallback=1, or use another congestion control on this path.

References
----------
RFC 9331 section 4.3 (coexistence with classic ECN in a shared queue); tcp_prague.c,
prague_ecn_fallback
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects
from l4strace.rules.support.fallback_states import (
    MIN_SHARE,
    floorless,
    only_observes,
    samples,
    steps,
    without_score,
)

CODE = "L4S305"
OFF = "the score classic_ecn stayed at 0, as with prague_ecn_fallback=0"
OBSERVES = "reductions stay at alpha/2 although the score is above 9, as with prague_ecn_fallback=2"
MIN_UPDATES = 50
"""Samples from which a score of 0 is not that of a flow that has just begun: by eye; a correct
detector exceeds 8 within 5 rounds at CoDel's queue delay (see L4S304)."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction in a shared classic queue whose fallback does nothing."""
    known = samples(evidence).filter(pl.col("score_max").is_not_null())
    if known.is_empty():
        return [Skipped(CODE, without_score(evidence))]
    classic = subjects.bottlenecks(evidence).filter(
        pl.col("kind").is_in(["classic", "shallow"])
        & (pl.col("confidence") >= subjects.ISOLATED_CONFIDENCE)
    )
    judged = (
        known.join(classic, on=subjects.DIRECTION)
        .join(steps(evidence).drop("log", "score_max"), on=subjects.DIRECTION, how="left")
        .join(floorless(evidence), on="log", how="left")
    )
    results: list[Finding | Skipped] = []
    if evidence.bottlenecks.is_empty():
        results.append(Skipped(CODE, "no capture shows what the bottleneck is"))
    for row in judged.iter_rows(named=True):
        if _never_ran(row):
            results.append(_finding(evidence, row, OFF))
        elif (row["full_share"] or 0.0) >= MIN_SHARE and only_observes(row):
            results.append(_finding(evidence, row, OBSERVES))
    return results


def _never_ran(row: dict[str, Any]) -> bool:
    """No detector step, or only steps at which a correct detector would have exceeded 8."""
    marked = row["saw_ce"] or (row["delivered_ce"] or 0) > 0
    silent = row["steps"] is None or (row["fixed_share"] or 0.0) >= MIN_SHARE
    return bool(row["score_max"] == 0 and marked and silent and row["samples"] >= MIN_UPDATES)


def _finding(evidence: Evidence, row: dict[str, Any], why: str) -> Finding:
    at = (row["marking_delay_us"] or 0.0) / 1000
    starved = subjects.starved_by(evidence, row["flow"])
    return Finding(
        CODE,
        Severity.WARNING,
        Confidence.HIGH if starved else Confidence.MEDIUM,
        "Prague's classic-ECN fallback does not act behind a classic AQM: all flows share one "
        f"queue that marks from {at:.1f} ms of queue delay, but {why}{starved}.",
        "Set prague_ecn_fallback=1, or use a classic congestion control on this path.",
        flow=row["flow"],
        forward=row["forward"],
        measures=(
            Measure("highest score", row["score_max"], "", "above 8 on a classic AQM"),
            Measure("queue delay at which marking begins", row["marking_delay_us"] or 0.0, "us"),
            Measure("marked share", row["ce_share"] or 0.0, "share"),
        ),
    )


RULE = Rule(CODE, "fallback-inert", "Fallback does not act behind a classic AQM.", check, __doc__)
