"""The opening of terminal, page and ticket: the fixed frame and the worst finding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from l4strace.evidence import Capture
from l4strace.model import Analysis, Confidence, Finding, Severity, Unmet, VerdictLines
from l4strace.wording.order import cause_first
from l4strace.wording.quantities import count, listed


class Verdict(NamedTuple):
    """``sentence`` stands alone; ``severity`` is null when nothing at all was found.

    ``frame`` states what limits the traffic, how it is shared and what the fallback does.
    """

    sentence: str
    severity: Severity | None
    finding: Finding | None = None
    frame: VerdictLines | None = None
    judged: bool = True
    """False where nothing was there to judge or only some rules were asked: no all-clear."""

    @property
    def leads(self) -> bool:
        """An error comes before the frame, anything milder after it."""
        return self.severity is Severity.ERROR


def conversations(capture: Capture) -> int:
    """Conversations of the captures; of the logs where there is no capture."""
    seen: int = capture.directions["flow"].n_unique() or capture.flows["flow"].n_unique()
    return seen


def verdict(analysis: Analysis, flows: int) -> Verdict:
    """The opening of ``analysis`` over ``flows`` conversations."""
    top = headline(analysis)
    frame = analysis.frame
    if analysis.unmet:
        sentence = " ".join(map(_expected, analysis.unmet))
        return Verdict(sentence, Severity.ERROR, None, frame)
    message = "" if top is None else _whose(analysis, top, flows) + top.message
    if top is not None and top.severity >= Severity.WARNING:
        return Verdict(message, top.severity, top, frame)
    unjudged = analysis.status.unjudged if analysis.status else ""
    if not flows:
        sentence = (unjudged or "No TCP flow found: nothing to judge.") if top is None else message
        return Verdict(sentence, top.severity if top else None, top, frame, judged=False)
    judged = f"in {count(flows, 'TCP flow' if unjudged else 'flow')}"
    unsure = len({skipped.rule for skipped in analysis.skipped})
    limits = f"; {unsure} of {len(analysis.rules)} rules could not judge" if unsure else ""
    whole = len(analysis.rules) >= analysis.known_rules
    packets = analysis.status is None or analysis.status.flows > 0
    doubts = any(finding.severity >= Severity.WARNING for finding in analysis.findings)
    if top is None:
        worst = max((finding.severity for finding in analysis.findings), default=None)
        nothing = "nothing found" if worst is None and not whole else "nothing wrong found"
        nothing = nothing if packets else LOGGED
        sentence = _of_the_rules(analysis, f"{DOUBTED if doubts else nothing} {judged}{limits}.")
        mild = None if worst is None else min(worst, Severity.NOTICE)
        return Verdict(sentence, mild, _fact(analysis), frame, whole and packets)
    starves = frame is not None and frame.starves
    calm = "no error and no warning" if starves else "nothing seriously wrong"
    calm = calm if packets else LOGGED
    opening = f"{DOUBTED if doubts else calm} {judged}{limits}"
    return Verdict(
        _of_the_rules(analysis, f"{opening}. {message}"),
        top.severity,
        top,
        frame,
        whole and packets,
    )


def _expected(unmet: Unmet) -> str:
    return f"Expected {unmet.expectation}, which is not so. {unmet.reason} Do: {unmet.action}"


DOUBTED = "no error or warning of more than low confidence"
"""Replaces an all-clear where possible faults are too uncertain to lead."""


LOGGED = "no packets, and the log shows no fault"
"""Replaces an all-clear where a log alone was read: most of what rules look at is in packets."""

OF_SENDERS = ("L4S1", "L4S2", "L4S3")
"""Families of rules whose findings are about one flow, not about its path or the whole run."""

NAMED = 4
"""Other flows that are named, not counted: as many numbers as fit into half a line."""


def _whose(analysis: Analysis, finding: Finding, flows: int) -> str:
    """`Flow 1: ` or `Flow 1 (likewise flows 0 and 2): `, where the message leaves out which one."""
    if flows < 2 or finding.flow is None or not finding.rule.startswith(OF_SENDERS):
        return ""
    alike = {
        one.flow
        for one in analysis.findings
        if (one.rule, one.severity) == (finding.rule, finding.severity) and one.flow is not None
    }
    if re.search(rf"\b[Ff]low {finding.flow}\b", finding.message):
        return ""
    others = [str(flow) for flow in sorted(alike - {finding.flow})]
    if not others:
        return f"Flow {finding.flow}: "
    named = f"flow{'s' if len(others) > 1 else ''} {listed(others)}"
    which = named if len(others) <= NAMED else count(len(others), "other flow")
    return f"Flow {finding.flow} (likewise {which}): "


def _of_the_rules(analysis: Analysis, sentence: str) -> str:
    """`1 of 54 rules: nothing found ...` where only some were asked."""
    asked, known = len(analysis.rules), analysis.known_rules
    if asked < known:
        return f"{asked} of {known} rules: {sentence}"
    return sentence[0].upper() + sentence[1:]


def headline(analysis: Analysis) -> Finding | None:
    """The finding that explains most: worst first, causes before consequences.

    What is of low confidence and mere information do not lead: the frame has what they add.
    """
    able = (f for f in _certain(analysis) if f.severity >= Severity.NOTICE)
    return min(able, key=cause_first, default=None)


def _fact(analysis: Analysis) -> Finding | None:
    """The finding that describes a run without a fault; its page links to it below the frame."""
    return min(_certain(analysis), key=cause_first, default=None)


def _certain(analysis: Analysis) -> Iterator[Finding]:
    return (finding for finding in analysis.findings if finding.confidence > Confidence.LOW)
