"""Fallback does not act behind a classic AQM.

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
`fallback.state`, which rests on: `kernel.classic_ecn`, `saw_ce` and `delivered_ce`;
`detector.score` and `score_fixed`; `cuts.law` and `classic_ecn` of the kernel's reductions;
`bottlenecks.kind` and `confidence`; `coexistence`.

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

from l4strace.evidence import Evidence
from l4strace.fallback import cases
from l4strace.fallback.place import confidence
from l4strace.fallback.row import Row
from l4strace.fallback.table import rows
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.prague.constants import CLASSIC_THRESHOLD
from l4strace.rules.support import subjects
from l4strace.rules.support.fallback_words import ABOVE, marks_from, without_score

OFF = "the score classic_ecn stayed at 0, as with prague_ecn_fallback=0"
OBSERVES = (
    f"reductions stay at alpha/2 although the score is above {CLASSIC_THRESHOLD:g}, as with "
    "prague_ecn_fallback=2"
)


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction in a shared classic queue whose fallback does nothing."""
    logged = [row for row in rows(evidence) if row.sampled and row.sampled.score_max is not None]
    if not logged:
        return [Skipped(without_score(evidence))]
    results: list[Finding | Skipped] = []
    if evidence.bottlenecks.is_empty():
        results.append(Skipped("no capture shows what the bottleneck is"))
    for row in logged:
        if cases.off(row):
            results.append(_finding(evidence, row, OFF, "off"))
        elif cases.only_observes(row):
            results.append(_finding(evidence, row, OBSERVES, "observes"))
    return results


def _finding(evidence: Evidence, row: Row, why: str, variant: str) -> Finding:
    starved = subjects.starved_by(evidence, row.flow)
    highest = row.sampled.score_max if row.sampled else None
    return Finding(
        Severity.WARNING,
        min(confidence(row.place.confidence), Confidence.HIGH if starved else Confidence.MEDIUM),
        "Prague's classic-ECN fallback does not act behind "
        f"{subjects.hedged(row.place.confidence, 'a classic AQM')}: all flows share one queue that "
        f"{marks_from(row.place)}, but {why}{starved}.",
        "Set prague_ecn_fallback=1, or use a classic congestion control on this path.",
        flow=row.flow,
        forward=row.forward,
        measures=(
            Measure("highest score", highest or 0.0, "", f"{ABOVE} on a classic AQM"),
            Measure("queue delay at which marking begins", row.place.marking_delay_us or 0.0, "us"),
            Measure("marked share", row.place.ce_share, "share"),
        ),
        variant=variant,
    )


RULE = Rule.of(__name__, __doc__, check, "Prague's fallback does not act where it should")
