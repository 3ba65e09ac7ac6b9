"""The fallback's references are compiled in at a sixteenth of their scale.

What it checks
--------------
Which build wrote the recorded score. Every unclamped step of `classic_ecn`, modulo half its unit,
is a constant of the build; where the score is clamped, it is replayed with both pairs of references
(750 and 2000 us; 1.51 and 1.61 us) and compared with the record.

Why it matters
--------------
The references live in the log domain: left at their 20-bit values on a 24-bit scale they mean
1.51 us and 1.61 us. Practically every flow that has seen one CE mark is classic two rounds later
and stays so.

Evidence
--------
`detector.residue`, `detector.build`, `detector.score_fixed`, `detector.score_buggy`; the sums of
steps of trace-classic-ecn-change.bt.

When it is wrong
----------------
Residues cannot be wrong: no other published constants give them. Replay without the recorded carry
is good to half a unit per step; a verdict from it alone is given with medium confidence.

What to do
----------
Set V0_LG to (160234941ULL >> V) and D0_LG to (183975331ULL >> D) and rebuild tcp_prague; until
then prague_ecn_fallback=0.

References
----------
L4STeam/linux issue 38; L4STeam/linux 15b3b6c85e5f (buggy), 48db3b6b4a7f (fixed)
"""

from __future__ import annotations

from typing import Any

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import aggregates
from l4strace.rules.support.fallback_states import MIN_SHARE, steps, without_score

CODE = "L4S302"
ACTION = (
    "Rebuild tcp_prague with V0_LG (160234941ULL >> V) and D0_LG (183975331ULL >> D), or set "
    "prague_ecn_fallback=0."
)
BUGGY = "24-bit buggy"
REPRODUCED = 1.0
"""Median error of a replay that reproduces the record: half a unit per logarithm (section 3.6)."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose score only the buggy references can make."""
    said: list[Finding | Skipped] = []
    proof = aggregates.scaling_bug(evidence.aggregates)
    if proof:
        said.append(
            Finding(CODE, Severity.ERROR, Confidence.HIGH, f"Scaling bug: {proof}.", ACTION)
        )
    recorded = steps(evidence)
    if recorded.is_empty():
        return said or [Skipped(CODE, without_score(evidence))]
    for row in recorded.iter_rows(named=True):
        if row["build"] == BUGGY:
            said.append(
                _finding(row, Confidence.HIGH, f"{row['residues']:,} steps carry {_residue()}")
            )
        elif row["build"] is None and _only_buggy_replay_fits(row):
            said.append(
                _finding(
                    row,
                    Confidence.MEDIUM,
                    "replay with 1.51 and 1.61 us reproduces the record, with 750 and 2000 us it "
                    "stays below 8",
                )
            )
    return said


def _residue() -> str:
    return "the residues that only references left at 20-bit scale on a 24-bit score can make"


def _only_buggy_replay_fits(row: dict[str, Any]) -> bool:
    return bool(
        row["classic_share"] >= MIN_SHARE
        and row["fixed_share"] == 0
        and row["buggy_error"] is not None
        and row["buggy_error"] <= REPRODUCED
    )


def _finding(row: dict[str, Any], confidence: Confidence, proof: str) -> Finding:
    return Finding(
        CODE,
        Severity.ERROR,
        confidence,
        f"The fallback's references act as 1.51 and 1.61 us instead of 750 and 2000 us: {proof}.",
        ACTION,
        flow=row["flow"],
        forward=row["forward"],
        measures=(
            Measure("steps with a residue", row["residues"]),
            Measure("time above 8, recorded", row["classic_share"], "share"),
            Measure("time above 8, correct references", row["fixed_share"] or 0.0, "share"),
            Measure("time above 8, buggy references", row["buggy_share"] or 0.0, "share"),
        ),
    )


RULE = Rule(
    CODE, "fallback-scaling-bug", "References at a sixteenth of their scale.", check, __doc__
)
