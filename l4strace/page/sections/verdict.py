"""The verdict: one sentence, and the numbers that carry it."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from l4strace.model import Severity
from l4strace.page.case import Case
from l4strace.page.sections.findings import MAX_CARDS, Item, fact, finding_ids
from l4strace.wording.names import counted, micro, number
from l4strace.wording.verdict import verdict

MAX_FACTS = 4


@dataclass(frozen=True)
class Tally:
    """How many findings of one severity."""

    severity: str
    text: str


@dataclass(frozen=True)
class VerdictSection:
    """``severity`` is ``none`` when nothing was found; ``link`` leads to the finding."""

    sentence: str
    severity: str
    action: str
    link: str
    facts: tuple[Item, ...]
    tally: tuple[Tally, ...]
    scope: str


def build(case: Case) -> VerdictSection:
    """The opening of the page."""
    said = verdict(case.analysis, case.flow_count)
    finding = said.finding
    ids = finding_ids(case.analysis.findings)
    place = case.analysis.findings.index(finding) if finding is not None else -1
    return VerdictSection(
        sentence=micro(said.sentence),
        severity="none" if said.severity is None else said.severity.name.lower(),
        action=micro(finding.action) if finding else "",
        link=ids[place] if finding and place < MAX_CARDS else "",
        facts=tuple(fact(measure) for measure in finding.measures[:MAX_FACTS]) if finding else (),
        tally=_tally(case),
        scope=_scope(case, said.sentence),
    )


def _tally(case: Case) -> tuple[Tally, ...]:
    counts = [
        (severity, sum(f.severity == severity for f in case.analysis.findings))
        for severity in sorted(Severity, reverse=True)
    ]
    return tuple(
        Tally(severity.name.lower(), counted(count, severity.name.lower()))
        for severity, count in counts
        if count
    )


def _scope(case: Case, sentence: str) -> str:
    captures = case.evidence.sources.filter(pl.col("tcp_packets").is_not_null())
    packets = counted(int(captures["tcp_packets"].sum()), "TCP packet")
    where = f" in {captures.height} captures" if captures.height > 1 else ""
    parts = [counted(case.flow_count, "flow"), packets + where, f"{number(case.axis.length)} s"]
    rules = len({skipped.rule for skipped in case.analysis.skipped})
    if rules and "could not judge" not in sentence:
        parts.append(f"{counted(rules, 'rule')} could not judge")
    return " · ".join(parts)
