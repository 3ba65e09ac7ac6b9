"""The order of the stages, stated once: bytes -> Capture -> Evidence -> Analysis.

`diagnose` composes them for every command and for `l4strace.open`: `read` turns files into tables,
`unrelated` separates runs that never met, `derive` adds the tables that follow, `judge` asks the
rules, `prove` looks up the packets behind findings. What comes after (`page`, `output`) only shows
the Analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from dataclasses import fields as fields_of
from typing import Any, NamedTuple

import polars as pl

from l4strace import console, evidence_packets, rules
from l4strace.bottleneck import table as bottleneck
from l4strace.core import _native
from l4strace.derive import (
    coexistence,
    datagrams,
    guard,
    hosts,
    neighbors,
    noise,
    numbers,
    one_way,
    overall,
    phases,
    queue_delay,
    spikes,
    vantage,
)
from l4strace.derive.senders import alphas, builds, cuts, detector, laws, pressed
from l4strace.errors import UsageError, reason
from l4strace.evidence import DERIVED, Capture, Evidence, hand_on, over_udp
from l4strace.fallback import table as fallback
from l4strace.ingest import load, separate
from l4strace.ingest.selection import Selection, findings_of, in_time, of_flows
from l4strace.ingest.tracked import Progress
from l4strace.model import Analysis, Finding, Rule, Skipped
from l4strace.resources import timed
from l4strace.rules.checklist import checklists
from l4strace.rules.support.causes import linked
from l4strace.rules.support.explained import explained
from l4strace.rules.support.status import status
from l4strace.rules.support.verdict_lines import verdict_lines
from l4strace.schema import TABLES
from l4strace.schema.words import CAPTURES
from l4strace.wording.headlines import headlined
from l4strace.wording.order import worst_first
from l4strace.wording.quantities import count

DERIVE = "derive"
"""Stands for the rule in a `Skipped` that names a broken table."""

MAKERS: dict[str, Callable[[Capture], pl.DataFrame]] = {
    "bottlenecks": bottleneck.bottlenecks,
    "signs": bottleneck.signs,
    "cuts": cuts.table,
    "detector": detector.table,
    "laws": laws.table,
    "builds": builds.table,
    "coexistence": coexistence.table,
    "phases": phases.table,
    "spikes": spikes.table,
    "noise": noise.table,
    "pressed": pressed.table,
    "hosts": hosts.table,
}
"""What makes each derived table, in their order."""

FALLBACK = "fallback"
"""The derived table that follows from the others."""

SHARED = (
    neighbors.directions,
    vantage.nearest,
    vantage.scalable,
    datagrams.directions,
    numbers.named,
    numbers.paths,
    phases.found,
    overall.directions,
)
"""Small tables that rules read as well, and that depend on the capture alone."""


class Asked(NamedTuple):
    """What a caller wants to know of each run that its inputs hold."""

    selection: Selection = Selection()
    """Flows and a stretch of time; rules judge the run with all its flows."""
    select: tuple[str, ...] = ()
    """Codes of rules, prefixes of codes or names; empty: all rules."""
    ignore: tuple[str, ...] = ()
    judge: bool = True
    """False: only tables are wanted, and the analysis is empty."""
    prove: bool = False
    """Whether the packets behind findings are looked up."""
    excerpt: bool = True
    """Whether these are cut out as a pcapng file, too."""
    digests: bool = True
    """Whether `sources` has the checksums of the inputs, which only some outputs show."""
    one_run: str = ""
    """The remedy where the inputs must be one run and are several; empty: they may be several."""
    strict: bool = False
    """Whether a rule that breaks raises."""


@dataclass(frozen=True)
class Judged:
    """One run of the inputs, and what the rules found in it."""

    read: Capture
    """The whole run as it was read."""
    evidence: Evidence
    """What is selected of it, with the derived tables."""
    analysis: Analysis


def diagnose(
    paths: Sequence[str],
    asked: Asked,
    *,
    companions: bool = True,
    reading: AbstractContextManager[Progress | None] | None = None,
    shown: Callable[[Capture], Capture] = lambda capture: capture,
) -> list[Judged]:
    """All stages in their order, for each unrelated run of the inputs.

    ``reading`` is open during the reading and reports its progress. ``shown`` gives a run the
    names that findings and outputs show. Raises InputError for what cannot be read, UsageError
    where nothing is selected and for several runs where one is asked for.
    """
    with reading or nullcontext() as progress, console.stage("read"):
        capture = read(paths, progress, companions, asked.digests)
    runs = unrelated(capture, asked.selection)
    if asked.one_run and len(runs) > 1:
        names = _named(map(shown, runs))
        raise UsageError(f"the inputs are {len(runs)} unrelated runs: {names}", asked.one_run)
    judged = [_judged(run, shown(run), asked) for run in runs]
    return [_proved(run, asked) for run in judged] if asked.prove else judged


def unrelated(capture: Capture, selection: Selection) -> list[Capture]:
    """The unrelated runs in ``capture``, without those of which no flow is selected."""
    runs = separate.runs(capture)
    if len(runs) > 1 and selection.of_flows:
        selection.numbers(capture)
        runs = [run for run in runs if selection.found(run).len()]
    return runs


def _named(runs: Iterable[Capture]) -> str:
    """The captures of each run, runs apart by semicolons."""
    names = (run.sources.filter(pl.col("kind").is_in(CAPTURES))["path"] for run in runs)
    return "; ".join(", ".join(captures) for captures in names)


def _judged(run: Capture, shown: Capture, asked: Asked) -> Judged:
    with _stage("derive"):
        evidence = derive(in_time(shown, asked.selection))
    chosen = of_flows(evidence, asked.selection)
    if not asked.judge:
        return Judged(run, chosen, Analysis(()))
    with _stage("judge"):
        analysis = judge(evidence, asked.select, asked.ignore, strict=asked.strict)
    if asked.selection.of_flows:
        analysis = findings_of(analysis, chosen)
    return Judged(run, chosen, analysis)


def _proved(run: Judged, asked: Asked) -> Judged:
    with _stage("prove"):
        return replace(run, analysis=prove(run.read, run.analysis, copy=asked.excerpt))


@contextmanager
def _stage(name: str) -> Iterator[None]:
    """A stage that is timed; what it took for itself alone goes back to the system after it."""
    with console.stage(name):
        yield
        _native.give_back()


def read(
    paths: Sequence[str],
    progress: Progress | None = None,
    companions: bool = True,
    digests: bool = True,
) -> Capture:
    """Reads captures, kernel logs and host files; with ``companions`` those beside a capture too.

    Raises InputError for what cannot be read. `stats` and `sources` show a cut file.
    """
    return load.load(paths, progress, companions, digests)


def derive(capture: Capture, *, strict: bool = False) -> Evidence:
    """Adds what only the whole run shows to `rounds` and `paths`, and the derived tables.

    A table that breaks on odd data stays empty, or loses the row that broke, and `judge` reports
    it, so that the rest of the diagnosis is not lost; ``strict`` lets it raise.
    """
    # What the tables keep for each other ends with them: it takes as much memory as `rounds`.
    given, capture = capture, replace(capture)
    values: dict[str, Any] = {f.name: getattr(capture, f.name) for f in fields_of(Capture)}
    broken: dict[str, str] = {}
    values["paths"] = _paths(capture, strict)
    capture = one_way.without_partial_paths(capture)
    values["rounds"] = _rounds(capture)
    values |= {name: _derived(name, capture, None if strict else broken) for name in MAKERS}
    reasons = tuple(broken[name] for name in DERIVED if name in broken)
    undecided = {"broken": reasons, FALLBACK: TABLES[FALLBACK].empty()}
    evidence = Evidence(**values | undecided)
    for kept in SHARED:
        hand_on(kept, capture, evidence)
    # The proof asks for it once more.
    hand_on(vantage.nearest, capture, given)
    return with_fallback(evidence, strict=strict)


def with_fallback(evidence: Evidence, *, strict: bool = False) -> Evidence:
    """Adds the table that follows from all others."""
    try:
        with timed(FALLBACK):
            decided = replace(evidence, fallback=fallback.table(evidence))
    except Exception as error:
        if strict:
            raise
        why = f"the table {FALLBACK} failed {_why(error)}"
        return replace(evidence, broken=(*evidence.broken, why))
    for kept in (*SHARED, fallback.rows):
        hand_on(kept, evidence, decided)
    return decided


def _rounds(capture: Capture) -> pl.DataFrame:
    """`rounds` with the columns that only the whole run shows."""
    with timed("queue_delay"):
        delayed = queue_delay.rounds(capture)
    with timed("alphas"):
        return alphas.rounds(capture, delayed)


def _paths(capture: Capture, strict: bool) -> pl.DataFrame:
    """`paths` with delays above each direction's own empty queue; as they were where that breaks.

    What breaks it breaks `bottlenecks` too, which states it.
    """
    try:
        return one_way.paths(capture)
    except Exception:
        if strict:
            raise
        return capture.paths


def _derived(name: str, capture: Capture, broken: dict[str, str] | None) -> pl.DataFrame:
    """One derived table, less what odd data breaks: a row, or all; ``broken`` then states it."""
    faults: list[Exception] = []
    try:
        with timed(name), guard.noting(None if broken is None else faults):
            table = TABLES[name].conform(MAKERS[name](capture))
    except Exception as error:
        if broken is None:
            raise
        broken[name] = f"the table {name} failed {_why(error)}"
        return TABLES[name].empty()
    if faults and broken is not None:
        broken[name] = f"{count(len(faults), 'row')} of the table {name} failed {_why(faults[0])}"
    return table


def _why(error: Exception) -> str:
    return f"({type(error).__name__}: {reason(error)}): please report this"


def judge(
    evidence: Evidence,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    *,
    strict: bool = False,
) -> Analysis:
    """Asks the rules: findings worst first, and what could not be judged.

    ``select`` and ``ignore`` hold codes, prefixes of codes or names. A rule that breaks on odd data
    is reported as skipped, so that the others still run; ``strict`` lets it raise.
    """
    found: dict[tuple[object, ...], Finding] = {}
    skipped = [Skipped(reason, rule=DERIVE) for reason in evidence.broken]
    asked = rules.select(select, ignore)
    for rule in asked:
        for result in _ask(rule, evidence, strict):
            if isinstance(result, Finding):
                found.setdefault(_what(result), headlined(result, rule))
            else:
                skipped.append(result)
    flows = [finding.flow for finding in found.values() if finding.flow is not None]
    sent = evidence.directions.select("flow", "payload_bytes").filter(pl.col("flow").is_in(flows))
    carried = dict(sent.group_by("flow").agg(pl.col("payload_bytes").max()).rows())
    findings = sorted(
        (explained(finding, evidence.host_files) for finding in found.values()),
        key=lambda finding: worst_first(finding, carried),
    )
    return Analysis(
        linked(findings, evidence.coexistence),
        tuple(skipped),
        asked,
        verdict_lines(evidence),
        status(evidence, findings),
        len(rules.RULES),
        checklists(evidence, findings),
    )


def prove(capture: Capture, analysis: Analysis, *, copy: bool = True) -> Analysis:
    """``analysis`` with the packets that prove its findings, from one more pass over the captures.

    ``capture`` is as `read` returned it. The pass ends at the last packet that is asked for. With
    ``copy`` they are cut out as a pcapng file, too.
    """
    return replace(analysis, proof=evidence_packets.prove(capture, analysis, copy=copy))


def _ask(rule: Rule, evidence: Evidence, strict: bool) -> list[Finding | Skipped]:
    try:
        with timed(rule.code):
            return [] if rule.over_udp and over_udp(evidence).is_empty() else rule.ask(evidence)
    except Exception as error:
        if strict:
            raise
        return [Skipped(f"the rule itself failed {_why(error)}", rule=rule.code)]


def _what(finding: Finding) -> tuple[object, ...]:
    """Identity of a finding: two captures of one flow show it twice."""
    return finding.rule, finding.severity, finding.flow, finding.forward, finding.message
