"""Headlines: what a finding and a verdict state in a few words."""

from __future__ import annotations

from dataclasses import replace

from l4strace.model import Finding, Rule

MAX_WORDS = 12
"""Words of a verdict's headline: what is read at a glance."""
MAX_OF_A_RULE = 9
"""Words of a rule's headline: a verdict may put three before it."""
ANY_FLOW = "a flow"
"""In place of the flow where the finding names none."""


def headlined(finding: Finding, rule: Rule) -> Finding:
    """``finding`` with its headline in words.

    Only one of ``rule.headlines`` is taken: tests know the length and the words of all of them.
    """
    chosen = finding.headline if finding.headline in rule.headlines else ""
    chosen = chosen or next(iter(rule.headlines), rule.summary.rstrip("."))
    flow = ANY_FLOW if finding.flow is None else f"flow {finding.flow}"
    words = chosen.replace("{flow}", flow)
    return replace(finding, headline=words[:1].upper() + words[1:])


def below(headline: str, message: str) -> str:
    """``message`` under ``headline``: without an opening or an end in the same words."""
    end = f": {within(headline)}."
    if message.startswith((f"{headline}: ", f"{headline}. ")):
        rest = message[len(headline) + 2 :]
        return rest[:1].upper() + rest[1:]
    return message.removesuffix(end) + "." if message.endswith(end) else message


PROPER = ("Prague", "Prague's")
"""First words that keep their capital within a sentence, as abbreviations do."""


def within(headline: str) -> str:
    """``headline`` behind other words: `the path adds jitter`."""
    first = headline.partition(" ")[0]
    name = first in PROPER or first[1:] != first[1:].lower() or not first[1:]
    keeps = name and first not in ("A",)
    return headline if keeps else headline[:1].lower() + headline[1:]
