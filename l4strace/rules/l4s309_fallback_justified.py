"""The fallback acts behind a classic AQM, as intended.

What it checks
--------------
Whether the kernel's score was above 8 in at least 30 % of the detector's steps on a path where
the packets show a classic AQM. Where packets do not show what the bottleneck is, or the score rose
when the path changed and what shows the AQM is from before, whether an input of the detector
reached its threshold, and neither jitter nor a slow link explains it (L4S303).

Why it matters
--------------
It is the opposite of a misfire: the build works.

Evidence
--------
`fallback.justified_by`, which rests on: `detector.score`, `mdev_us`, `depth_us` and `build`;
`bottlenecks.kind`, `confidence` and `marking_delay_us`; `noise.jitter_us`; `phases.start_ns`,
`end_ns`, `marks`, `capacity_bps`, `capacity_shown` and `busy_share`.

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

from l4strace.evidence import Evidence
from l4strace.fallback import cases
from l4strace.fallback.recorded import Recorded
from l4strace.fallback.row import Row
from l4strace.fallback.table import rows
from l4strace.model import Finding, Rule, Severity, Skipped
from l4strace.rules.support import fallback_words as words
from l4strace.rules.support import subjects
from l4strace.rules.support.fallback_words import ABOVE, DEPTH, MDEV
from l4strace.schema.words import CLASSIC_OR_PER_FLOW

MARKING = {
    "classic": "a classic AQM that marks",
    "shallow": "an AQM that marks all flows",
    CLASSIC_OR_PER_FLOW: "a classic AQM, on one queue or with a queue per flow, that marks",
}
"""Bottlenecks behind which the fallback is meant to act."""

FOLLOWS = "Prague's detector follows its inputs"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose score is high where it should be."""
    recorded = [(row, row.recorded) for row in rows(evidence) if row.recorded]
    if not recorded:
        return [Skipped(words.without_score(evidence))]
    return [
        _finding(evidence, row, score)
        if row.justified_by == "classic AQM"
        else _by_inputs(evidence, row, score)
        for row, score in recorded
        if cases.right(row)
    ]


def _finding(evidence: Evidence, row: Row, score: Recorded) -> Finding:
    place = row.place
    delay = place.marking_delay_us
    at = "" if delay is None else f" from {delay / 1000:.1f} ms of queue delay"
    since = subjects.moment(evidence, score.since_ns)
    marks = subjects.hedged(place.confidence, MARKING[place.kind or ""])
    return Finding(
        Severity.INFO,
        row.confidence,
        f"Prague's detector works as intended: from {since} its score is {ABOVE}"
        f"{words.part_of_time_since(score)} behind {marks}{at}.",
        flow=row.flow,
        forward=row.forward,
        span_ns=subjects.span(score.since_ns, score.last_ns),
        measures=(
            words.steps_above(score, "near 1"),
            words.high_depth(score, f"at least {DEPTH}"),
            words.high_deviation(score, f"at least {MDEV}"),
        ),
        variant=place.kind or "",
    )


def _by_inputs(evidence: Evidence, row: Row, score: Recorded) -> Finding:
    """Without packets only the detector's own inputs can justify the score."""
    since = subjects.moment(evidence, score.since_ns)
    return Finding(
        Severity.INFO,
        row.confidence,
        f"Prague's detector follows its inputs: from {since} its score is {ABOVE}, with a queue "
        f"delay of {words.depth(score.high_depth_us)} and an RTT deviation of "
        f"{words.deviation(score.high_mdev_us)}. {_open(evidence, row)}",
        "" if row.place.kind else "Record packets together with the kernel log.",
        flow=row.flow,
        forward=row.forward,
        span_ns=subjects.span(score.since_ns, score.last_ns),
        measures=(words.steps_above(score),),
        headline=FOLLOWS,
        variant="changed-path" if cases.after_change(row) else "inputs",
    )


def _open(evidence: Evidence, row: Row) -> str:
    """Why the AQM is not known."""
    if cases.after_change(row):
        return words.before_change(evidence, row)
    if row.place.kind is None:
        return "Packets would show whether the AQM is classic."
    return "The packets do not show whether the AQM is classic (L4S401 gives the reason)."


RULE = Rule.of(__name__, __doc__, check, "Prague's detector works as intended", FOLLOWS)
