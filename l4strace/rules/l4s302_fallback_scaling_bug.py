"""Fallback thresholds on the wrong scale (24-bit bug).

What it checks
--------------
Which build wrote the recorded score. A step of `classic_ecn` that no clamp cut, modulo half of the
score's unit, is a constant of the build. Where no step identifies the build, the score is replayed
with both pairs of thresholds (750 and 2000 us; 1.51 and 1.61 us) and compared with the recorded
one. Counters are judged by their mean step.

Why it matters
--------------
The thresholds are logarithms: the constants of a 20-bit build on a 24-bit scale mean 1.51 us and
1.61 us. Nearly every flow that has received one CE mark is classic two rounds later and stays so.

Evidence
--------
`detector.build` (identified by that remainder of a step); `detector.score`, `score_fixed` and
`score_buggy`; `bottlenecks.kind` and `confidence` (where the bug does no
harm, and where that is not known); the counters of bpftrace (trace-classic-ecn-change.bt).

When it is wrong
----------------
The constants of the published builds are all different, so an identified step is certain. Without
the recorded carry of its logarithms a replay is off by up to half a unit per logarithm: a verdict
from replay alone has medium confidence.

What to do
----------
Set V0_LG to (160234941ULL >> V) and D0_LG to (183975331ULL >> D) and rebuild tcp_prague. Set
prague_ecn_fallback=0 until then.

References
----------
L4STeam/linux issue 38; L4STeam/linux 15b3b6c85e5f (buggy), 48b3db6b4a7f (fixed)
"""

from l4strace.evidence import Evidence
from l4strace.fallback import cases, counters
from l4strace.fallback.recorded import MIN_SHARE, Recorded
from l4strace.fallback.row import Row
from l4strace.fallback.table import rows
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import fallback_words as words
from l4strace.rules.support import subjects
from l4strace.rules.support.fallback_words import ABOVE, DEPTH, MDEV, SCORE_LIMIT, STEPS, SUITED
from l4strace.wording.quantities import count, share

ACTION = (
    "Run `echo 0 > /sys/module/tcp_prague/parameters/prague_ecn_fallback`, or rebuild tcp_prague "
    "with V0_LG (160234941ULL >> V) and D0_LG (183975331ULL >> D)."
)
REPLAY = (
    "a replay with these thresholds matches the recorded score, and with the correct ones it never "
    f"exceeds {SCORE_LIMIT}"
)
REPRODUCED = 1.0
"""Median error of a replay that reproduces the recorded score: without the recorded carry each of
its two logarithms is off by half a unit at most (prague_classic_ecn_detection)."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose score only the wrong thresholds can produce."""
    results: list[Finding | Skipped] = []
    proof = counters.scaling_bug(evidence.aggregates)
    if proof:
        message = f"Prague's classic-ECN fallback has the scaling bug: {proof}."
        results.append(Finding(Severity.ERROR, Confidence.HIGH, message, ACTION))
    recorded = [(row, row.recorded) for row in rows(evidence) if row.recorded]
    if not recorded:
        return results or [Skipped(words.without_score(evidence))]
    for row, score in recorded:
        if score.buggy:
            those = count(score.residues, "step")
            verb = "changes" if score.residues == 1 else "change"
            proof = f"{those} {verb} the score as only this bug does"
            results.append(_finding(row, score, Confidence.HIGH, proof))
        elif score.build is None and _only_buggy_replay_fits(score):
            results.append(_finding(row, score, Confidence.MEDIUM, REPLAY))
    return results


def _only_buggy_replay_fits(score: Recorded) -> bool:
    error = score.buggy_error
    high = score.share >= MIN_SHARE and score.fixed_share == 0
    return high and error is not None and error <= REPRODUCED


def _finding(row: Row, score: Recorded, confidence: Confidence, proof: str) -> Finding:
    return Finding(
        Severity.ERROR,
        confidence,
        "Prague's classic-ECN fallback has the scaling bug: its thresholds act as 1.51 us of RTT "
        f"deviation and 1.61 us of queue delay instead of {MDEV} and {DEPTH}; {proof}."
        f"{_effect(row, score)}{_by_accident(row, score)}",
        ACTION,
        flow=row.flow,
        forward=row.forward,
        measures=(
            Measure("steps that identify the build", score.residues),
            words.steps_above(score),
            words.correct_steps(score),
            Measure(f"{STEPS}, wrong thresholds", score.buggy_share, "share"),
        ),
    )


def _effect(row: Row, score: Recorded) -> str:
    """What L4S301 would say behind an L4S AQM: with high inputs another AQM may call for it."""
    if row.state != "acts" or not cases.perhaps_classic(row):
        return ""
    return (
        f" It backed off like a classic flow{words.part_of_time_since(score)}; whether the "
        "bottleneck calls for that is not known."
    )


def _by_accident(row: Row, score: Recorded) -> str:
    """Behind a classic AQM the fallback is right by accident: the share with correct thresholds."""
    if not cases.by_accident(row):
        return ""
    queue = subjects.hedged(row.place.confidence, SUITED[row.place.kind or ""])
    return (
        f" Here it is right by accident: behind {queue} the score should be {ABOVE} (with correct "
        f"thresholds it is in {share(score.fixed_share)} of the steps)."
    )


RULE = Rule.of(__name__, __doc__, check, "Prague's fallback has the scaling bug")
