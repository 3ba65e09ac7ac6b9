"""The line of a verdict's frame on the fallback: the weightiest rows of its table, in words."""

from collections.abc import Callable, Sequence

import polars as pl

from l4strace.derive.vantage import scalable_over_tcp
from l4strace.evidence import Evidence, over_udp
from l4strace.fallback import cases
from l4strace.fallback.place import LIKELY_CONFIDENCE, SUITED, Place
from l4strace.fallback.recorded import MAJORITY, MIN_STEPS, Recorded
from l4strace.fallback.row import Row
from l4strace.fallback.table import rows
from l4strace.model import Confidence
from l4strace.prague.constants import DEPTH_REFERENCE_US
from l4strace.rules.support.fallback_words import ABOVE, SCORE_LIMIT, fact, not_falling_back
from l4strace.wording.quantities import share

Case = Callable[[Row], bool]

ORDER: tuple[tuple[Case, str], ...] = (
    (cases.misfired, "misfires"),
    (cases.of_path, "active, and conditions of the path explain it"),
    (cases.by_accident, "active behind a classic AQM, by accident: the build has the scaling bug"),
    (cases.missed, "inactive behind a classic AQM"),
    (lambda row: cases.off(row) or cases.only_observes(row), "switched off, or it only observes"),
    (cases.after_change, "active since the path changed, as its inputs are high since then"),
    (cases.right, "active behind a classic AQM, as it should be"),
    (cases.absent, "not in this kernel"),
    (cases.unarmed, "never armed: the log shows no step of the detector"),
)
"""What the rules on the fallback report, the weightiest first."""

UNUSED: dict[Case, str] = {
    cases.misfired: "the score is higher than the path explains, yet no reduction uses it",
    cases.of_path: "the score is high because of the path, yet no reduction uses it",
    cases.after_change: "the score is high since the path changed, yet no reduction uses it",
}
"""What the rules on the fallback report, where no row of a case uses the score."""

NOT_SHOWN: dict[Case, str] = {
    cases.of_path: "the score is high, and conditions of the path explain it",
    cases.by_accident: "the score is high behind a classic AQM by accident, by the scaling bug",
    cases.after_change: "the score is high since the path changed, as its inputs are",
    cases.right: "the score is high behind a classic AQM, as it should be",
}
"""What the rules report, where no row of a case shows that reductions use the score."""


def fallback_line(evidence: Evidence, name: Callable[[Sequence[int]], str]) -> str:
    """What Prague's fallback does; ``name`` words flows."""
    known = rows(evidence)
    if scalable_over_tcp(evidence).is_empty() and evidence.kernel["alpha"].is_null().all():
        if over_udp(evidence).is_empty():
            return "nothing to judge: no data packet carries ECT(1), as those of a Prague flow do"
        return "nothing to judge: it is part of TCP Prague, and no flow over TCP sends ECT(1)"
    recorded = _recorded(known)
    for case, what in ORDER:
        if found := [row for row in known if case(row)]:
            words = _words(case, what, found, bool(recorded))
            flows = name([row.flow for row in found if row.flow is not None])
            return f"{words} ({flows})"
    if recorded:
        return recorded + ", as intended behind this bottleneck" * _intended(known)
    if evidence.kernel["classic_ecn"].is_not_null().any():
        return "idle: the kernel log shows no step of the detector"
    return _of_packets(evidence, known)


def _words(case: Case, what: str, found: Sequence[Row], recorded: bool) -> str:
    """Less sure than what a rule states where all that it found is of low confidence."""
    what = _as_used(case, what, found)
    if all(row.confidence is Confidence.LOW for row in found):
        if case is not cases.of_path:
            return f"not certain: {what}"
        if recorded:
            return "conditions of the path keep the score up, whatever the AQM is"
        return "unknown: Prague's detector would take this path for a classic AQM"
    return what


def _as_used(case: Case, what: str, found: Sequence[Row]) -> str:
    """`active` only where something shows that reductions use the score."""
    if all(row.state == "observes" for row in found):
        return UNUSED.get(case, what)
    return what if any(row.used for row in found) else NOT_SHOWN.get(case, what)


def _of_packets(evidence: Evidence, known: Sequence[Row]) -> str:
    """What the reductions on the wire show of the weightiest row, of equals the largest flow."""
    found = [row for row in known if cases.shown_by_packets(row) or cases.deep(row)]
    if not found:
        return "unknown: no kernel log with Prague's score, and no clear reductions"
    carried = evidence.directions.group_by("flow").agg(pl.col("payload_bytes").max())
    size = dict(carried.iter_rows())
    row = max(found, key=lambda row: (_weight(row), size.get(row.flow) or 0))
    text = fact(evidence, row)
    if row.confidence is Confidence.LOW:
        return f"not certain: {text[0].lower()}{text[1:]}"
    return text


def _weight(row: Row) -> tuple[bool, bool, bool, Confidence]:
    """A misfire before a fallback that is missing, before one that acts, before all others."""
    acts = row.state == "acts"
    misfire = acts and row.justified_by == "nothing"
    return misfire, not_falling_back(row), acts or cases.deep(row), row.confidence


def _recorded(known: Sequence[Row]) -> str:
    """How often the score that the kernel recorded was above the threshold."""
    scores = _scores(known)
    if not scores:
        return ""
    most = max(score.most for score in scores)
    above = _mean(scores, [score.share for score in scores])
    if most == 0:
        return "the kernel's score is 0 throughout: no fallback acts"
    if above == 0:
        number = f"{most:.1f}".removesuffix(".0")
        return f"the kernel's score never exceeds {number} (threshold {SCORE_LIMIT})"
    right = share(_mean(scores, [score.right_share for score in scores]))
    wrong = any(score.buggy or not score.replay_agrees for score in scores)
    bug = f" ({right} with correct thresholds)" if wrong and right != share(above) else ""
    return f"the kernel's score is {ABOVE} in {share(above)} of its steps{bug}"


def _scores(known: Sequence[Row]) -> list[Recorded]:
    """Recorded scores, less those of flows too short to reach 8 if there are others."""
    recorded = [row.recorded for row in known if row.recorded]
    return [score for score in recorded if score.steps >= MIN_STEPS] or recorded


def _mean(scores: Sequence[Recorded], shares: Sequence[float]) -> float:
    """Share of all their steps."""
    steps = sum(score.steps for score in scores)
    return sum(s.steps * part for s, part in zip(scores, shares, strict=True)) / steps


def _intended(known: Sequence[Row]) -> bool:
    """Whether a fallback is meant to act behind the bottleneck of each flow, and does.

    With the scaling bug the score is high behind any AQM.
    """
    scores = _scores(known)
    return all(
        _suited(row.place)
        and row.high
        and row.recorded.share >= MAJORITY
        and not row.recorded.buggy
        for row in known
        if row.recorded and row.recorded in scores
    )


def _suited(place: Place) -> bool:
    """Shown to be an AQM behind which the fallback is meant to act."""
    late = place.kind != "per-flow" or (place.marking_delay_us or 0.0) >= DEPTH_REFERENCE_US
    return place.kind in SUITED and place.confidence >= LIKELY_CONFIDENCE and late
