"""A path that marks stopped for a while.

What it checks
--------------
Gaps between marks of 2 s or more, five times longer than nearly all others of the path, in which
packets were retransmitted as they were not before, or the queue stood twice as high as where marks
used to come.

Why it matters
--------------
An L4S sender relies on marks. Without them it fills the buffer until packets drop, and all who
share the queue wait.

Evidence
--------
`phases.changed`, `marks`, `losses`, `start_ns` and `end_ns`; `flows.vantage` (far from the sender
losses are a lower bound).

When it is wrong
----------------
Losses that do not come from the queue, such as those of a radio link that degrades, during a time
of low load.

What to do
----------
Look for a second queue that becomes the bottleneck, an AQM that was reconfigured, and middleboxes
that erase CE.

References
----------
RFC 9331 section 5.2 (what L4S needs of a bottleneck); RFC 9332 section 2.5
"""

from itertools import pairwise

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import paths
from l4strace.rules.support.paths import Phase
from l4strace.wording import vantages
from l4strace.wording.moments import span
from l4strace.wording.quantities import count

MIN_LOST = 3
"""Losses that are named: fewer may be random."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each silent phase of a path that marks at other times."""
    results: list[Finding | Skipped] = []
    for phases in paths.phases(evidence):
        results += [_finding(evidence, phase) for phase in _silent(phases)]
    return results


def _silent(phases: list[Phase]) -> list[Phase]:
    """Phases without a mark, bordered by a change of marking."""
    opens = {after["phase"] for after in phases if after["changed"] == "marking"}
    closes = {before["phase"] for before, after in pairwise(phases) if after["phase"] in opens}
    return [p for p in phases if p["marks"] == 0 and p["phase"] in opens | closes]


def _finding(evidence: Evidence, phase: Phase) -> Finding:
    lost = phase["losses"]
    while_ = (
        f"while {_least(evidence, phase)}{count(lost, 'packet')} "
        f"{'was' if lost == 1 else 'were'} retransmitted"
        if lost >= MIN_LOST
        else "although the queue stood higher than where it used to mark"
    )
    return Finding(
        Severity.WARNING,
        Confidence.MEDIUM,
        f"The path did not mark from {span(evidence, phase['start_ns'], phase['end_ns'])}, "
        f"{while_}; it marks at other times.",
        "Look for a second bottleneck without ECN, or a middlebox that erases CE.",
        **direction_of(phase),
        span_ns=(phase["start_ns"], phase["end_ns"]),
        measures=(
            Measure("retransmitted", int(lost), "packet"),
            Measure("without a mark", (phase["end_ns"] - phase["start_ns"]) / 1e9, "s"),
        ),
    )


def _least(evidence: Evidence, phase: Phase) -> str:
    """Far from the sender some of what was lost comes once, as if it were new."""
    own = evidence.flows.filter(source=phase["source"], flow=phase["flow"])
    for flow in own.iter_rows(named=True):
        far = vantages.of_direction(flow, phase["forward"]) in ("receiver", "middle")
        return "at least " if far else ""
    return ""


RULE = Rule.of(__name__, __doc__, check, "The path stopped marking for a while")
