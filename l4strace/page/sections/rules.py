"""Every rule that ran, by what came of it; where it matters with the text of `l4strace explain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from l4strace.model import Rule
from l4strace.page.case import Case
from l4strace.wording.rule_text import Passage, passages

TITLE = "Rules"


class RuleEntry(NamedTuple):
    """One rule's page."""

    code: str
    name: str
    summary: str
    missing: str
    """Why it could not judge, or empty."""
    passages: tuple[Passage, ...]


class RulesSection(NamedTuple):
    """``passed`` are the rules that looked and found nothing: their texts are not shown."""

    found: tuple[RuleEntry, ...]
    unjudged: tuple[RuleEntry, ...]
    passed: tuple[Rule, ...]


def build(case: Case) -> RulesSection:
    """Rules in the order of their codes."""
    found = {finding.rule for finding in case.analysis.findings}
    missing: dict[str, list[str]] = {}
    for skipped in case.analysis.skipped:
        missing.setdefault(skipped.rule, []).append(skipped.reason)
    rules = case.analysis.rules
    unjudged = [rule for rule in rules if rule.code in missing and rule.code not in found]
    return RulesSection(
        tuple(_entry(rule, missing.get(rule.code, ())) for rule in rules if rule.code in found),
        tuple(_entry(rule, missing[rule.code]) for rule in unjudged),
        tuple(rule for rule in rules if rule.code not in found | missing.keys()),
    )


def _entry(rule: Rule, missing: Sequence[str]) -> RuleEntry:
    reasons = "; ".join(dict.fromkeys(missing))
    return RuleEntry(rule.code, rule.name, rule.summary, reasons, passages(rule.doc))
