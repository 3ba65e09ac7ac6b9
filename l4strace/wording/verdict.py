"""The one sentence that terminal, page and ticket open with."""

from __future__ import annotations

from dataclasses import dataclass

from l4strace.evidence import Capture
from l4strace.model import Analysis, Finding, Severity
from l4strace.wording.order import cause_first
from l4strace.wording.quantities import count


@dataclass(frozen=True)
class Verdict:
    """``sentence`` stands alone; ``severity`` is null when nothing at all was found."""

    sentence: str
    severity: Severity | None
    finding: Finding | None = None


def conversations(capture: Capture) -> int:
    """Conversations of the captures; of the logs where there is no capture."""
    seen: int = capture.directions["flow"].n_unique() or capture.flows["flow"].n_unique()
    return seen


def verdict(analysis: Analysis, flows: int) -> Verdict:
    """The headline of ``analysis`` over ``flows`` conversations."""
    top = headline(analysis)
    if top is not None and top.severity >= Severity.WARNING:
        return Verdict(top.message, top.severity, top)
    judged = f"in {count(flows, 'flow')}"
    unsure = len({skipped.rule for skipped in analysis.skipped})
    limits = f"; {unsure} of {len(analysis.rules)} rules could not judge" if unsure else ""
    if not flows:
        sentence = "No TCP flow found: nothing to judge." if top is None else top.message
        return Verdict(sentence, top.severity if top else None, top)
    if top is None:
        return Verdict(f"Nothing wrong found {judged}{limits}.", None, None)
    return Verdict(f"Nothing seriously wrong {judged}{limits}. {top.message}", top.severity, top)


def headline(analysis: Analysis) -> Finding | None:
    """The finding that explains most: worst first, causes before consequences."""
    return min(analysis.findings, key=cause_first, default=None)
