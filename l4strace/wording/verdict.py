"""The opening of terminal, page and ticket: the fixed frame and the worst finding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from l4strace.evidence import Capture, over_udp, traffic
from l4strace.model import Analysis, Confidence, Finding, Severity, Unmet, VerdictLines
from l4strace.wording.headlines import within
from l4strace.wording.order import cause_first, root
from l4strace.wording.quantities import count, listed


class Verdict(NamedTuple):
    """``headline`` is read at a glance, ``paragraph`` below it; ``sentence`` stands alone.

    ``severity`` is null when nothing at all was found; ``frame`` states what limits the traffic,
    how it is shared and what the fallback does.
    """

    headline: str
    paragraph: str
    sentence: str
    severity: Severity | None
    finding: Finding | None = None
    frame: VerdictLines | None = None
    judged: bool = True
    """False where nothing was there to judge or only some rules were asked: no all-clear."""

    @property
    def told(self) -> Finding | None:
        """The finding whose message and remedy stand in the verdict: a list need not repeat it."""
        finding = self.finding
        return finding if finding is not None and finding.message in self.paragraph else None

    def action(self, analysis: Analysis) -> str:
        """Remedy of the leading finding, or of its cause."""
        return root(self.told, analysis.findings).action if self.told else ""


def conversations(capture: Capture) -> int:
    """Conversations of the captures; of the logs where there is no capture."""
    seen: int = capture.directions["flow"].n_unique() or capture.flows["flow"].n_unique()
    return seen


def counted(capture: Capture) -> int:
    """Conversations over TCP alone: `Status` counts those over UDP that are judged.

    Of logs alone, whose every flow is judged by what it logs, all.
    """
    if traffic(capture).directions.is_empty():
        return conversations(traffic(capture))
    others = over_udp(capture)["flow"].implode()
    tables = (capture.directions["flow"], capture.flows["flow"])
    seen, known = (numbers.filter(~numbers.is_in(others)).n_unique() for numbers in tables)
    return seen or known


def verdict(analysis: Analysis, flows: int) -> Verdict:
    """The opening of ``analysis`` over ``flows`` conversations."""
    top = leading(analysis)
    if analysis.unmet:
        names = ", ".join(unmet.expectation for unmet in analysis.unmet)
        text = " ".join(map(_expected, analysis.unmet))
        headline = f"Expected {names}: not so"
        return Verdict(headline, text, text, Severity.ERROR, None, analysis.frame)
    judged = flows + _over_udp(analysis)
    if top is not None and (top.severity >= Severity.WARNING or not judged):
        text = _whose(analysis, top, flows) + top.message
        sure = top.severity >= Severity.WARNING
        return Verdict(_words(top), text, text, top.severity, top, analysis.frame, sure)
    if not judged:
        text = analysis.status.unjudged if analysis.status else ""
        udp = analysis.status.udp_flows if analysis.status else 0
        headline = f"Nothing to judge in {count(udp, 'flow')} over UDP" if udp else NO_FLOW
        return Verdict(headline, text, text or f"{headline}.", None, None, analysis.frame, False)
    return _all_clear(analysis, flows, top)


def _all_clear(analysis: Analysis, flows: int, top: Finding | None) -> Verdict:
    """That no error and no warning leads, and the worst notice."""
    sentence, words = _clear(analysis)
    where = f"in {_judged(analysis, flows)}"
    opening = _of_the_rules(analysis, f"{sentence} {where}")
    unsure = len({skipped.rule for skipped in analysis.skipped})
    limits = f"{unsure} of {len(analysis.rules)} rules could not judge" if unsure else ""
    alone = f"{opening}; {limits}." if limits else f"{opening}."
    # Of UDP the queue and the response to marks are not judged: no all-clear.
    judged = _asked_all(analysis) and _packets(analysis) and flows > 0
    also = "" if flows or analysis.status is None else analysis.status.unjudged
    limits = f"{also} {limits}.".strip() if limits else also
    if top is None:
        worst = max((finding.severity for finding in analysis.findings), default=None)
        mild = None if worst is None else min(worst, Severity.NOTICE)
        headline = _of_the_rules(analysis, words if sentence == LOGGED else f"{words} {where}")
        return Verdict(
            headline, limits, alone, mild, _fact(analysis), analysis.frame, judged=judged
        )
    message = _whose(analysis, top, flows) + top.message
    calm = words == CALM and _asked_all(analysis)
    return Verdict(
        f"{CALM}; {within(_words(top))}" if calm else _words(top),
        f"{message} {limits}".rstrip(),
        f"{alone} {message}",
        top.severity,
        top,
        analysis.frame,
        judged,
    )


def _words(top: Finding) -> str:
    """Headline of a finding; the message of one that no rule made."""
    return top.headline or top.message


def _clear(analysis: Analysis) -> tuple[str, str]:
    if any(finding.severity >= Severity.WARNING for finding in analysis.findings):
        return DOUBTED, "nothing certain found"
    if not _packets(analysis):
        return LOGGED, LOGGED
    if leading(analysis) is None:
        some = analysis.findings or _asked_all(analysis)
        return (NOTHING_WRONG, NOTHING_WRONG) if some else ("nothing found", "nothing found")
    if analysis.frame is not None and analysis.frame.starves:
        return "no error and no warning", ""
    return CALM[0].lower() + CALM[1:], CALM


def _asked_all(analysis: Analysis) -> bool:
    return len(analysis.rules) >= analysis.known_rules


def _packets(analysis: Analysis) -> bool:
    status = analysis.status
    return status is None or status.flows + status.udp_judged > 0


def _over_udp(analysis: Analysis) -> int:
    """Flows over UDP that rules judge."""
    return analysis.status.udp_judged if analysis.status else 0


def _judged(analysis: Analysis, flows: int) -> str:
    """`2 flows`; where UDP was seen `2 TCP flows and 1 flow over UDP`, or either alone."""
    status, udp = analysis.status, _over_udp(analysis)
    seen = status is not None and status.udp_flows > 0
    tcp = count(flows, "TCP flow" if seen else "flow") if flows or not udp else ""
    over_udp = f"{count(udp, 'flow')} over UDP" if udp else ""
    return " and ".join(filter(None, (tcp, over_udp)))


def _expected(unmet: Unmet) -> str:
    return f"Expected {unmet.expectation}, which is not so. {unmet.reason} Do: {unmet.action}"


NO_FLOW = "No flow to judge"
NOTHING_WRONG = "nothing wrong found"
CALM = "Nothing seriously wrong"

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


def leading(analysis: Analysis) -> Finding | None:
    """The finding that explains most: worst first, causes before consequences.

    Findings of low confidence and of severity info do not lead: the verdict's lines say them.
    """
    able = (f for f in _certain(analysis) if f.severity >= Severity.NOTICE)
    return min(able, key=cause_first, default=None)


def _fact(analysis: Analysis) -> Finding | None:
    """The finding that describes a run without a fault; its page links to it below the frame."""
    return min(_certain(analysis), key=cause_first, default=None)


def _certain(analysis: Analysis) -> Iterator[Finding]:
    return (finding for finding in analysis.findings if finding.confidence > Confidence.LOW)
