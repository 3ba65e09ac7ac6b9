"""The verdict: headline, remedy, one chart, and what stands behind it."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from l4strace import model
from l4strace.evidence import over_udp, traffic
from l4strace.model import Finding, Severity
from l4strace.page.case import Case
from l4strace.page.chart import Chart
from l4strace.page.sections.findings import shown_ids
from l4strace.page.sections.verdict import glance
from l4strace.wording.amounts import number, typeset
from l4strace.wording.headlines import below
from l4strace.wording.quantities import count
from l4strace.wording.verdict import Verdict, conversations, verdict

TITLE = ""

NEGOTIATION = "L4S101"
"""The rule whose message has the reason that the line on L4S gives."""


class Tally(NamedTuple):
    """How many findings of one severity."""

    severity: str
    text: str


class Status(NamedTuple):
    """``answer`` as in `model.Status`; ``sentence`` is empty where nobody asked."""

    answer: str
    sentence: str


class VerdictSection(NamedTuple):
    """``severity`` is ``none`` when nothing was found; ``link`` leads to the finding.

    ``frame`` holds the three lines of each verdict, with their labels, below ``status``.
    """

    headline: str
    paragraph: str
    status: Status
    frame: tuple[tuple[str, str], ...]
    severity: str
    action: str
    link: str
    tally: tuple[Tally, ...]
    scope: str
    charts: tuple[Chart, ...]
    """The one that shows it at a glance, if there is something to draw."""


def build(case: Case) -> VerdictSection:
    """The opening of the page."""
    opening = verdict(case.analysis, case.flow_count)
    finding = opening.finding
    ids = shown_ids(case.analysis.findings)
    place = case.analysis.findings.index(finding) if finding is not None else -1
    frame = opening.frame.lines if opening.frame else ()
    seen = glance.chart(case, finding)
    return VerdictSection(
        headline=typeset(opening.headline),
        paragraph=typeset(below(opening.headline, opening.paragraph)),
        status=_status(case, finding),
        frame=tuple((label, typeset(text)) for label, text in frame),
        severity=_tone(opening, case.analysis.status),
        action=typeset(opening.action(case.analysis)),
        link=ids.get(place, ""),
        tally=_tally(case),
        scope=_scope(case, opening.paragraph),
        charts=(seen,) if seen else (),
    )


def _status(case: Case, finding: Finding | None) -> Status:
    """Whether this is L4S at all; why not, where the paragraph above does not say so."""
    status = case.analysis.status
    if status is None:
        return Status("unknown", "")
    answer, end, _ = status.sentence.partition(". ")
    told = end and finding is not None and finding.rule == NEGOTIATION
    return Status(status.answer, typeset(f"{answer}." if told else status.sentence))


def _tone(opening: Verdict, status: model.Status | None) -> str:
    """A severity; without one `none` after a full judgment, else grey: `partly` or `unjudged`."""
    if opening.severity is not None:
        return opening.severity.name.lower()
    if opening.judged:
        return "none"
    return "partly" if status is not None and status.udp_judged else "unjudged"


def _tally(case: Case) -> tuple[Tally, ...]:
    counts = [
        (severity, sum(f.severity == severity for f in case.analysis.findings))
        for severity in sorted(Severity, reverse=True)
    ]
    return tuple(
        Tally(severity.name.lower(), count(found, severity.name.lower()))
        for severity, found in counts
        if found
    )


def _scope(case: Case, paragraph: str) -> str:
    captures = case.evidence.sources.filter(pl.col("tcp_packets").is_not_null())
    udp = 0 if over_udp(case.evidence).is_empty() else int(captures["udp_packets"].sum())
    packets = count(int(captures["tcp_packets"].sum()) + udp, "packet" if udp else "TCP packet")
    if captures.is_empty():
        packets = "no capture"
    where = f" in {captures.height} captures" if captures.height > 1 else ""
    flows = conversations(traffic(case.evidence))
    parts = [count(flows, "flow"), packets + where, f"{number(case.axis.length)} s"]
    rules = len({skipped.rule for skipped in case.analysis.skipped})
    if rules and "could not judge" not in paragraph:
        parts.append(f"{count(rules, 'rule')} could not judge")
    return " · ".join(parts)
