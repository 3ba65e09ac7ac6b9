"""Sender checklist: what RFC 9331 asks of an L4S sender, and what the run shows of it."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from l4strace.evidence import traffic
from l4strace.model import Check
from l4strace.page.case import Case
from l4strace.wording.amounts import typeset
from l4strace.wording.names import FANCY_ARROW, direction_name

TITLE = "Sender checklist"

ABSENT = "No L4S sender: no data is ECT(1) and no handshake promised it."
UNSEEN = "No capture among the inputs: a log does not show which codepoints were sent."
SHOWN_AS = {"not shown": "unknown"}
"""Verdict as JSON has it -> as the page shows it."""
KINDS = {"pass": "passed", "fail": "failed", "unknown": "open"}
"""Verdict -> class of its cell."""


class SenderRow(NamedTuple):
    """One sender with its checks."""

    flow: int
    name: str
    tally: str
    checks: tuple[Check, ...]


class ChecklistSection(NamedTuple):
    """``kinds`` has the class of each verdict; ``absent`` is the reason for no sender, or empty."""

    senders: tuple[SenderRow, ...]
    kinds: dict[str, str]
    absent: str


def build(case: Case) -> ChecklistSection:
    """Senders in the order of the analysis."""
    names = _names(case)
    senders = tuple(
        SenderRow(
            one.flow,
            names.get((one.flow, one.forward), ""),
            _tally(checks),
            checks,
        )
        for one in case.analysis.checklists
        for checks in [tuple(_typeset(check) for check in one.checks)]
    )
    absent = ABSENT if traffic(case.evidence).directions.height else UNSEEN
    return ChecklistSection(senders, KINDS, "" if senders else absent)


def _names(case: Case) -> dict[tuple[int, bool], str]:
    listed = {(one.flow, one.forward) for one in case.analysis.checklists}
    rows = case.evidence.flows.filter(pl.col("flow").is_in([flow for flow, _ in listed]))
    by_flow = {row["flow"]: row for row in rows.iter_rows(named=True)}
    return {
        (flow, forward): direction_name(by_flow[flow], forward, FANCY_ARROW)
        for flow, forward in listed
        if flow in by_flow
    }


def _typeset(check: Check) -> Check:
    verdict = SHOWN_AS.get(check.verdict, check.verdict)
    return Check(typeset(check.requirement), check.clause, verdict, typeset(check.evidence))


def _tally(checks: tuple[Check, ...]) -> str:
    """`5 pass, 1 fail, 6 unknown`."""
    counts = ((sum(check.verdict == verdict for check in checks), verdict) for verdict in KINDS)
    return ", ".join(f"{number} {verdict}" for number, verdict in counts if number)
