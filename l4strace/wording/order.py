"""Orders of findings: worst first for lists, causes before consequences for the headline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from l4strace.model import Cause, Finding

PATH_FAULTS = ("L4S104", "L4S105", "L4S107", "L4S114")
"""A path that changes the ECN field explains what a sender or a receiver then seems to do wrong."""
HEADLINE_ORDER = (
    *("L4S3", "L4S101", "L4S603", *PATH_FAULTS, "L4S1", "L4S2"),
    *("L4S408", "L4S5", "L4S4", "L4S6", "L4S0"),
)
"""Families by how well they explain the rest: a cause before its consequences. A path that changed
explains spikes and shares, a setting that excludes AccECN all that is not L4S; the rest of their
families does not."""


def worst_first(finding: Finding, carried: Mapping[int, int]) -> tuple[int | str, ...]:
    """Sort key of lists; ``carried`` has the payload bytes of each flow.

    Of equal findings the flow that carried more comes first, then the earlier one: the same input
    always gives the same order.
    """
    flow = -1 if finding.flow is None else finding.flow
    return (
        -finding.severity,
        -finding.confidence,
        finding.rule,
        -(carried.get(flow) or 0),
        flow,
        -1 if finding.source is None else finding.source,
        finding.forward is False,
        finding.span_ns[0] if finding.span_ns else 0,
    )


def cause_first(finding: Finding) -> tuple[int, int, str]:
    """Sort key of the headline: worst first, then what explains most."""
    family = (place for place, codes in enumerate(HEADLINE_ORDER) if finding.rule.startswith(codes))
    return (-finding.severity, next(family, len(HEADLINE_ORDER)), finding.rule)


def root(finding: Finding, findings: Iterable[Finding]) -> Finding:
    """The finding at the beginning of the story that ``finding`` belongs to."""
    named = {Cause(one.rule, one.flow, one.forward): one for one in reversed(list(findings))}
    while finding.cause is not None and (cause := named.get(finding.cause)) is not None:
        finding = cause
    return finding


def readable(findings: Iterable[Finding], of_a_rule: int, most: int) -> list[int]:
    """Positions of the first findings: at most ``of_a_rule`` of one rule and ``most`` in all.

    Without the first bound a rule that fires on every flow would push out all the others.
    """
    seen: Counter[str] = Counter()
    kept: list[int] = []
    for place, finding in enumerate(findings):
        seen[finding.rule] += 1
        if seen[finding.rule] <= of_a_rule and len(kept) < most:
            kept.append(place)
    return kept
