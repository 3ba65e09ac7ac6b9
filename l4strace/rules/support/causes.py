"""Findings as one story: which finding explains which, so that one remedy stands for both.

A rule judges alone; that the starvation of a flow follows from its misfire is seen where all
findings are there. An effect names its cause in place of a remedy of its own.
"""

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from l4strace.model import Cause, Confidence, Finding, Severity
from l4strace.wording.headlines import within

Beside = Set[tuple[int, bool, int]]
"""`flow`, `forward` and `other_flow` of `coexistence`: who sent beside whom over one path."""
Place = Callable[[Finding, Finding, Beside], bool]


def _itself(effect: Finding, cause: Finding, beside: Beside) -> bool:  # noqa: ARG001
    """A fault of the sender that the effect is about."""
    return (effect.flow, effect.forward) == (cause.flow, cause.forward)


def _other(effect: Finding, cause: Finding, beside: Beside) -> bool:
    """A fault of a sender beside it on its path, which takes what the effect's flow lacks."""
    return (effect.flow, cause.forward, cause.flow) in beside and effect.forward == cause.forward


class Link(NamedTuple):
    """``effect`` follows from ``cause`` (of this ``variant``, if any) where ``place`` agrees."""

    effect: str
    cause: str
    variant: str = ""
    place: Place = _itself


SHARES = ("L4S501", "L4S502")
GREEDY = ("L4S304", "L4S305", "L4S306", "L4S201", "L4S202", "L4S203")
"""Faults of a sender that take from the flows beside it."""
GAVE_UP = ("L4S115", "L4S210")
"""What a sender over UDP rightly does where the path erases or re-marks ECT."""

LINKS = (
    Link("L4S301", "L4S302"),
    *(Link(effect, cause, "misfire") for effect in SHARES for cause in ("L4S301", "L4S308")),
    *(Link(effect, cause, place=_other) for effect in SHARES for cause in GREEDY),
    *(Link(effect, cause) for effect in GAVE_UP for cause in ("L4S104", "L4S105")),
    Link("L4S102", "L4S119"),
    Link("L4S404", "L4S402"),
    Link("L4S111", "L4S108"),
    Link("L4S112", "L4S108"),
)
"""Links, those first whose cause is named where several explain a finding."""

WORKING = ("L4S402",)
"""Rules that explain another finding even as info, such as a queue that never marks."""


def linked(findings: Sequence[Finding], coexistence: pl.DataFrame) -> tuple[Finding, ...]:
    """``findings`` in their order; each effect with its cause, and the remedy that this has."""
    beside = set(coexistence.select("flow", "forward", "other_flow").iter_rows())
    causes = (_cause(finding, findings, beside) for finding in findings)
    return tuple(
        finding if cause is None else _effect(finding, cause)
        for finding, cause in zip(findings, causes, strict=True)
    )


def _effect(finding: Finding, cause: Finding) -> Finding:
    where = "" if cause.flow in (None, finding.flow) else f" of flow {cause.flow}"
    likely = "" if cause.confidence is Confidence.HIGH else "likely "
    action = f"Mend the {likely}cause, {cause.rule}{where}: {within(cause.headline)}."
    return replace(finding, action=action, cause=Cause(cause.rule, cause.flow, cause.forward))


def _cause(effect: Finding, findings: Sequence[Finding], beside: Beside) -> Finding | None:
    links = [link for link in LINKS if link.effect == effect.rule]
    explains = (one for link in links for one in findings if _explains(link, one, effect, beside))
    return next(explains, None)


def _explains(link: Link, cause: Finding, effect: Finding, beside: Beside) -> bool:
    """Sure enough, a fault, at the right place, and not after the effect."""
    if cause.rule != link.cause or link.variant not in ("", cause.variant):
        return False
    least = Severity.INFO if cause.rule in WORKING else Severity.WARNING
    if cause.confidence is Confidence.LOW or cause.severity < least:
        return False
    late = effect.span_ns and cause.span_ns and cause.span_ns[0] > effect.span_ns[1]
    return not late and link.place(effect, cause, beside)
