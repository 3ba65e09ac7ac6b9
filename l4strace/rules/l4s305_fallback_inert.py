"""A classic AQM is on the path and Prague's fallback is switched off.

What it checks
--------------
Whether the kernel has a `classic_ecn` that never left 0 although the flow was marked and a correct
detector would have raised it, or that rose without any cut following, while the packets show one
classic queue for all flows.

Why it matters
--------------
`prague_ecn_fallback` is 0 (off) by default in every version that has it, and 2 only watches. In a
shared RFC 3168 queue Prague then dominates flows that halve at each mark.

Evidence
--------
`kernel.classic_ecn`, `detector`, `cuts`, `bottlenecks`, `coexistence`; the module parameter where
a host file has it.

When it is wrong
----------------
A build without the detector that still writes the field as 0 looks the same; the remedy does too.

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
from l4strace.rules.support.fallback_states import MIN_SHARE, samples, steps, without_score

CODE = "L4S305"
MIN_UPDATES = 50
"""Samples from which a score of 0 is more than a flow that has just begun."""

MIN_CUTS = 10


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
        .join(_unfloored(evidence), on=subjects.DIRECTION, how="left")
    )
    said: list[Finding | Skipped] = []
    if evidence.bottlenecks.is_empty():
        said.append(Skipped(CODE, "no capture shows what the bottleneck is"))
    for row in judged.iter_rows(named=True):
        if _never_ran(row):
            said.append(
                _finding(evidence, row, "classic_ecn never left 0: prague_ecn_fallback is 0")
            )
        elif _only_watches(row):
            said.append(
                _finding(
                    evidence, row, "the score is classic but cuts stay at alpha/2: detection only"
                )
            )
    return said


def _never_ran(row: dict[str, Any]) -> bool:
    """No detector step, or only ones that a correct detector would have answered."""
    marked = row["saw_ce"] or (row["delivered_ce"] or 0) > 0
    silent = row["steps"] is None or (row["fixed_share"] or 0.0) >= MIN_SHARE
    return bool(row["score_max"] == 0 and marked and silent and row["samples"] >= MIN_UPDATES)


def _only_watches(row: dict[str, Any]) -> bool:
    fired = (row["full_share"] or 0.0) >= MIN_SHARE
    return bool(fired and (row["cuts"] or 0) >= MIN_CUTS and row["unfloored"] > 0.5)


def _unfloored(evidence: Evidence) -> pl.DataFrame:
    """Share of the cuts in the full classic zone that were no deeper than alpha/2."""
    cuts = evidence.cuts.filter(
        (pl.col("cause") == "ce") & (pl.col("classic_ecn") >= 9) & (pl.col("origin") == "kernel")
    )
    return cuts.group_by(subjects.DIRECTION).agg(
        pl.len().alias("cuts"), (pl.col("law") == "alpha/2").mean().alias("unfloored")
    )


def _finding(evidence: Evidence, row: dict[str, Any], why: str) -> Finding:
    at = (row["marking_delay_us"] or 0.0) / 1000
    starved = subjects.starved_by(evidence, row["flow"])
    return Finding(
        CODE,
        Severity.WARNING,
        Confidence.HIGH if starved else Confidence.MEDIUM,
        f"Fallback inert on a classic AQM: one queue marks all flows from {at:.1f} ms and {why}"
        f"{starved}.",
        "Set prague_ecn_fallback=1, or use a classic congestion control on this path.",
        flow=row["flow"],
        forward=row["forward"],
        measures=(
            Measure("highest score", row["score_max"], "", "above 8 on a classic AQM"),
            Measure("marks set in at", row["marking_delay_us"] or 0.0, "us"),
            Measure("marked share", row["ce_share"] or 0.0, "share"),
        ),
    )


RULE = Rule(CODE, "fallback-inert", "Fallback switched off on a classic AQM.", check, __doc__)
