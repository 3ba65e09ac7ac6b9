"""The text of every rule that found something or could not judge, as `l4strace explain` has it."""

from __future__ import annotations

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
    found: bool
    passages: tuple[Passage, ...]


class RulesSection(NamedTuple):
    """``silent`` are the rules that looked and found nothing: their texts are not shown."""

    entries: tuple[RuleEntry, ...]
    silent: tuple[Rule, ...]


def build(case: Case) -> RulesSection:
    """Rules in the order of their codes."""
    found = {finding.rule for finding in case.analysis.findings}
    unsure = {skipped.rule for skipped in case.analysis.skipped}
    rules = case.analysis.rules
    return RulesSection(
        tuple(_entry(rule, rule.code in found) for rule in rules if rule.code in found | unsure),
        tuple(rule for rule in rules if rule.code not in found | unsure),
    )


def _entry(rule: Rule, found: bool) -> RuleEntry:
    return RuleEntry(rule.code, rule.name, rule.summary, found, passages(rule.doc))
