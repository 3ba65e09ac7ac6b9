"""Findings by severity and rule: what, where, how sure, the numbers, what to do, where to look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from l4strace.model import Cause, Finding, Measure, Severity
from l4strace.page.case import Case
from l4strace.wording import measures
from l4strace.wording.amounts import micro, typeset
from l4strace.wording.display_filters import flow_filter, frames_filter
from l4strace.wording.headlines import below
from l4strace.wording.moments import span
from l4strace.wording.names import FANCY_ARROW, direction_key, ends
from l4strace.wording.order import readable
from l4strace.wording.quantities import count
from l4strace.wording.verdict import Verdict, verdict

TITLE = "Findings"

QUALITY_FAMILY = "L4S0"
"""Rules about the capture itself: they undermine findings of the same input."""

MAX_CARDS = 100
"""Findings that a page shows; `l4strace diagnose --json` lists all."""
MAX_OF_A_RULE = 20
"""Findings of one rule that a page shows."""
OPEN_OF_A_RULE = 3
"""Cards of one rule that need no click, as many as the terminal shows in full."""
MAX_CAVEATS = 3
MAX_EFFECTS = 6
"""Consequences that a finding links to."""


class Item(NamedTuple):
    """A named number with what it should have been."""

    name: str
    value: str
    expected: str


class Step(NamedTuple):
    """Another finding of the same story; ``key`` is its id on the page, empty without a card."""

    key: str
    text: str


class Story(NamedTuple):
    """What a finding follows from, and what follows from it."""

    causes: tuple[Step, ...] = ()
    effects: tuple[Step, ...] = ()


class Place(NamedTuple):
    """Where a finding was made; ``window`` is the fragment's ``t`` (empty: whole run)."""

    key: str
    flow: str
    flow_key: str
    source: str
    time: str
    window: str
    frames: tuple[int, ...]
    filters: tuple[tuple[str, str], ...]
    story: Story


class Card(NamedTuple):
    """A finding as the page shows it, with all places where it was made word for word."""

    rule: str
    rule_name: str
    severity: str
    confidence: str
    headline: str
    message: str
    action: str
    told: bool
    """The verdict or a line below it holds its message, which is empty here."""
    remedy_told: bool
    """The verdict holds its action, which is empty here."""
    facts: tuple[Item, ...]
    caveats: tuple[str, ...]
    places: tuple[Place, ...] = ()

    @property
    def key(self) -> str:
        """Id on the page."""
        return self.places[0].key


class Group(NamedTuple):
    """The findings of one rule and severity: ``cards`` are open, ``folded`` can be opened."""

    cards: tuple[Card, ...]
    folded: tuple[Card, ...]

    @property
    def more(self) -> str:
        """Text that states what the fold holds; empty without a fold."""
        found = sum(len(card.places) for card in self.folded)
        return f"{count(found, 'more finding')} of {self.cards[0].rule}" if found else ""


class FindingsSection(NamedTuple):
    """Worst first; ``left_out`` counts the findings without a card, or is empty."""

    groups: tuple[Group, ...]
    left_out: str

    @property
    def cards(self) -> tuple[Card, ...]:
        """All cards in their order."""
        return tuple(card for group in self.groups for card in (*group.cards, *group.folded))


def build(case: Case) -> FindingsSection:
    """Groups in the order of the analysis, which is worst first."""
    findings = case.analysis.findings
    keys = shown_ids(findings)
    more = len(findings) - len(keys)
    stories = _stories(findings, keys)
    shown = [(findings[place], key, stories[place]) for place, key in keys.items()]
    doubts = _doubts(findings)
    opening = verdict(case.analysis, case.flow_count)
    by_rule: dict[tuple[str, str], list[Card]] = {}
    for card in _merged(case, shown, doubts, opening):
        by_rule.setdefault((card.severity, card.rule), []).append(card)
    groups = tuple(
        Group(tuple(cards[:OPEN_OF_A_RULE]), tuple(cards[OPEN_OF_A_RULE:]))
        for cards in by_rule.values()
    )
    left_out = f"{count(more, 'more finding')} not shown; l4strace diagnose --json lists all."
    return FindingsSection(groups, left_out if more else "")


def _merged(
    case: Case,
    shown: Sequence[tuple[Finding, str, Story]],
    doubts: Sequence[Finding],
    opening: Verdict,
) -> list[Card]:
    """One card for findings that differ in their place alone."""
    names = {rule.code: rule.name for rule in case.analysis.rules}
    told, action = opening.told, opening.action(case.analysis)
    lines = [text for _, text in opening.frame.lines] if opening.frame else []
    places: dict[Card, list[Place]] = {}
    for finding, key, story in shown:
        said = finding.message in lines or (
            told is not None and (finding.rule, finding.message) == (told.rule, told.message)
        )
        card = _card(finding, names.get(finding.rule, ""), doubts, said)
        if card.action and finding.action == action:
            card = card._replace(action="", remedy_told=True)
        places.setdefault(card, []).append(_place(case, finding, key, story))
    return [card._replace(places=tuple(found)) for card, found in places.items()]


def _stories(findings: Sequence[Finding], keys: dict[int, str]) -> list[Story]:
    """The links of each finding, in both directions."""
    places: dict[Cause, int] = {}
    for place, one in enumerate(findings):
        places.setdefault(Cause(one.rule, one.flow, one.forward), place)
    causes = [places.get(one.cause) if one.cause else None for one in findings]
    effects: dict[int, list[int]] = {}
    for effect, cause in enumerate(causes):
        if cause is not None:
            effects.setdefault(cause, []).append(effect)

    def step(place: int) -> Step:
        one = findings[place]
        return Step(keys.get(place, ""), typeset(f"{one.rule} {one.headline}"))

    return [
        Story(
            () if cause is None else (step(cause),),
            tuple(map(step, effects.get(place, ())[:MAX_EFFECTS])),
        )
        for place, cause in enumerate(causes)
    ]


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
            key += f"-{direction_key(finding.flow, finding.forward is not False)}"
        seen[key] += 1
        ids.append(key if seen[key] == 1 else f"{key}-{seen[key]}")
    return ids


def fact(measure: Measure) -> Item:
    """A measure as the page shows it."""
    return Item(measure.name, micro(measures.value(measure)), micro(measure.expected))


def _card(finding: Finding, rule_name: str, doubts: Sequence[Finding], told: bool) -> Card:
    return Card(
        rule=finding.rule,
        rule_name=rule_name,
        severity=finding.severity.name.lower(),
        confidence=finding.confidence.name.lower(),
        headline=typeset(finding.headline),
        message="" if told else typeset(below(finding.headline, finding.message)),
        action="" if finding.cause else typeset(finding.action),
        told=told,
        remedy_told=False,
        facts=tuple(fact(measure) for measure in finding.measures),
        caveats=_caveats(doubts, finding),
    )


def _place(case: Case, finding: Finding, key: str, story: Story) -> Place:
    flow, flow_key, conversation = _flow(case, finding)
    time, window = _time(case, finding)
    filters = [("these frames", frames_filter(finding.frames)), ("this flow", conversation)]
    return Place(
        key=key,
        flow=flow,
        flow_key=flow_key,
        source=case.inputs.get(finding.source, "") if finding.source is not None else "",
        time=time,
        window=window,
        frames=finding.frames,
        filters=tuple((name, text) for name, text in filters if text),
        story=story,
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
