"""Findings by severity: what, where, how sure, the numbers, what to do, and where to look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from l4strace.model import Finding, Measure, Severity
from l4strace.page.case import Case
from l4strace.wording import measures
from l4strace.wording.amounts import micro, typeset
from l4strace.wording.display_filters import flow_filter, frames_filter
from l4strace.wording.moments import span
from l4strace.wording.names import FANCY_ARROW, ends
from l4strace.wording.order import readable
from l4strace.wording.quantities import count

TITLE = "Findings"

QUALITY_FAMILY = "L4S0"
"""Rules about the capture itself: they undermine findings of the same input."""

MAX_CARDS = 100
"""Findings that a page shows; `l4strace diagnose --json` lists all."""
MAX_OF_A_RULE = 20
"""And of one rule."""
MAX_CAVEATS = 3


@dataclass(frozen=True)
class Item:
    """A named number with what it should have been."""

    name: str
    value: str
    expected: str


@dataclass(frozen=True)
class Card:
    """One finding as the page shows it; ``window`` is the fragment's ``t`` (empty: whole run)."""

    key: str
    rule: str
    rule_name: str
    severity: str
    confidence: str
    message: str
    action: str
    flow: str
    flow_key: str
    source: str
    time: str
    window: str
    facts: tuple[Item, ...]
    frames: tuple[int, ...]
    filters: tuple[tuple[str, str], ...]
    caveats: tuple[str, ...]


@dataclass(frozen=True)
class FindingsSection:
    """Worst first; ``left_out`` counts the findings without a card, or is empty."""

    cards: tuple[Card, ...]
    left_out: str


def build(case: Case) -> FindingsSection:
    """Cards in the order of the analysis, which is worst first."""
    findings = case.analysis.findings
    names = {rule.code: rule.name for rule in case.analysis.rules}
    keys = shown_ids(findings)
    more = len(findings) - len(keys)
    doubts = _doubts(findings)
    cards = (
        _card(case, findings[place], key, names.get(findings[place].rule, ""), doubts)
        for place, key in keys.items()
    )
    left_out = f"{count(more, 'more finding')} not shown; l4strace diagnose --json lists all."
    return FindingsSection(tuple(cards), left_out if more else "")


def shown_ids(findings: Sequence[Finding]) -> dict[int, str]:
    """Id on the page of each finding that has a card, by its position in ``findings``."""
    ids = finding_ids(findings)
    return {place: ids[place] for place in readable(findings, MAX_OF_A_RULE, MAX_CARDS)}


def finding_ids(findings: Sequence[Finding]) -> list[str]:
    """Stable ids such as ``L4S301-flow-3``; the second of a kind ends in ``-2``."""
    seen: Counter[str] = Counter()
    ids = []
    for finding in findings:
        key = finding.rule
        if finding.flow is not None:
            key += f"-flow-{finding.flow}" + ("-reverse" if finding.forward is False else "")
        seen[key] += 1
        ids.append(key if seen[key] == 1 else f"{key}-{seen[key]}")
    return ids


def fact(measure: Measure) -> Item:
    """A measure as the page shows it."""
    return Item(measure.name, micro(measures.value(measure)), micro(measure.expected))


def _card(
    case: Case, finding: Finding, key: str, rule_name: str, doubts: Sequence[Finding]
) -> Card:
    flow, flow_key, conversation = _flow(case, finding)
    time, window = _time(case, finding)
    filters = [("these frames", frames_filter(finding.frames)), ("this flow", conversation)]
    return Card(
        key=key,
        rule=finding.rule,
        rule_name=rule_name,
        severity=finding.severity.name.lower(),
        confidence=finding.confidence.name.lower(),
        message=typeset(finding.message),
        action=typeset(finding.action),
        flow=flow,
        flow_key=flow_key,
        source=case.inputs.get(finding.source, "") if finding.source is not None else "",
        time=time,
        window=window,
        facts=tuple(fact(measure) for measure in finding.measures),
        frames=finding.frames,
        filters=tuple((name, text) for name, text in filters if text),
        caveats=_caveats(doubts, finding),
    )


def _flow(case: Case, finding: Finding) -> tuple[str, str, str]:
    """Name, id on the page and display filter of the finding's flow."""
    if finding.flow is None:
        return "", "", ""
    row = case.accused.get(finding.flow)
    if row is None:
        return f"flow {finding.flow}", "", ""
    name = FANCY_ARROW.join(ends(row, finding.forward))
    key = case.anchor(finding.flow, finding.forward)
    return f"flow {finding.flow}: {name}", key, flow_filter(row)


def _time(case: Case, finding: Finding) -> tuple[str, str]:
    if finding.span_ns is None:
        return "", ""
    start, end = (case.axis.seconds(ns) for ns in finding.span_ns)
    # A little room on both sides, so that a moment is a window too.
    room = max((end - start) * 0.05, 0.05)
    window = f"{max(start - room, 0):.3f},{end + room:.3f}"
    return span(case.evidence, *finding.span_ns), window


def _doubts(findings: Sequence[Finding]) -> list[Finding]:
    """What casts doubt on other findings of the same capture."""
    return [
        finding
        for finding in findings
        if finding.rule.startswith(QUALITY_FAMILY) and finding.severity >= Severity.WARNING
    ]


def _caveats(doubts: Sequence[Finding], finding: Finding) -> tuple[str, ...]:
    """The doubts about the capture that this finding rests on."""
    if finding.rule.startswith(QUALITY_FAMILY):
        return ()
    about = dict.fromkeys(
        typeset(other.message)
        for other in doubts
        if (other.source is None or finding.source is None or other.source == finding.source)
        and (other.flow is None or other.flow == finding.flow)
    )
    return tuple(about)[:MAX_CAVEATS]
