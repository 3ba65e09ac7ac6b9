"""Prague's detector ran and did not detect a classic AQM.

What it checks
--------------
Whether the recorded score was above 8 in less than a tenth of the detector's steps, although the
packets show one queue that marks the packets of other flows too: at a millisecond (shallow) or at
several (classic).

Why it matters
--------------
Prague reduces its window by alpha/2, a few percent, at marks at which the other flows halve theirs.
In published runs it then gets 20 to 60 times their rate.

Evidence
--------
`fallback.state`, which rests on: `detector.score`, `score_fixed`, `mdev_us` and `depth_us`;
`bottlenecks.kind`, `confidence` and `marking_delay_us`; `coexistence` (who starves, and from when).

When it is wrong
----------------
If the other flow does not respond to marks, or starves for another reason.

What to do
----------
Do not mark classic traffic at L4S thresholds: give it a queue of its own (DualPI2, FQ), or restrict
ce_threshold to ECT(1) (`ce_threshold_selector 0x01/0x01`).

References
----------
RFC 9331 section 4.3; heistp/sce-l4s-ect1 README, key findings ("tightened AQM settings for Codel,
RED and PIE")
"""

from l4strace.evidence import Evidence
from l4strace.fallback import cases
from l4strace.fallback.place import confidence
from l4strace.fallback.recorded import Recorded
from l4strace.fallback.row import Row
from l4strace.fallback.table import rows
from l4strace.model import Finding, Measure, Rule, Severity, Skipped
from l4strace.prague.constants import SCALABLE_THRESHOLD
from l4strace.rules.support import fallback_words as words
from l4strace.rules.support import subjects
from l4strace.rules.support.fallback_words import ABOVE, DEPTH, MDEV


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction that stayed scalable in a shared classic queue."""
    recorded = [(row, row.recorded) for row in rows(evidence) if row.recorded]
    if not recorded:
        return [Skipped(words.without_score(evidence))]
    if all(row.place.kind is None for row, _ in recorded):
        return [Skipped("no capture shows what the bottleneck is")]
    return [_finding(evidence, row, score) for row, score in recorded if cases.missed(row)]


def _finding(evidence: Evidence, row: Row, score: Recorded) -> Finding:
    return Finding(
        Severity.WARNING,
        confidence(row.place.confidence),
        f"Prague's detector missed {subjects.hedged(row.place.confidence, 'a classic AQM')}: all "
        f"flows share one queue that {words.marks_from(row.place)}, but {_score(score)}"
        f"{subjects.starved_by(evidence, row.flow)}.",
        "Give classic traffic a queue of its own, or mark only ECT(1) at such a threshold.",
        flow=row.flow,
        forward=row.forward,
        measures=(
            Measure("highest score", score.most, "", f"{ABOVE} on a classic AQM"),
            Measure(
                "queue delay at all steps, median",
                score.depth_us or 0.0,
                "us",
                f"at least {DEPTH} to be detected",
            ),
            Measure(
                "RTT deviation at all steps, median",
                score.mdev_us or 0.0,
                "us",
                f"at least {MDEV} to be detected",
            ),
            Measure("queue delay at which marking begins", row.place.marking_delay_us or 0.0, "us"),
        ),
    )


def _score(score: Recorded) -> str:
    if score.most <= SCALABLE_THRESHOLD:
        return f"the score did not exceed {score.most:.1f} (threshold {SCALABLE_THRESHOLD:g})"
    return f"the score was {ABOVE} only{words.part_of_time(score)}"


RULE = Rule.of(__name__, __doc__, check, "Prague's detector missed a classic AQM")
