"""The terminal summary: verdict first, at most 80 columns. Its form is not a contract."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from l4strace.console import printable
from l4strace.evidence import Capture
from l4strace.model import Analysis, Finding, Measure, Severity
from l4strace.output import flow_lines
from l4strace.wording.quantities import count, endpoint, quantity, seconds
from l4strace.wording.verdict import conversations, verdict

WIDTH = 80
FINDINGS_OF_A_RULE = 3
"""Findings of one rule that are shown in full; the page and JSON have all."""
PLACES_SHOWN = 3
FLOWS_SHOWN = 12
SKIPPED_SHOWN = 12
FRAMES_SHOWN = 5

MARKS = {Severity.ERROR: "x", Severity.WARNING: "!", Severity.NOTICE: "-", Severity.INFO: "i"}
COLORS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTICE: "36"}
CALM = "1;32"
INDENT = " " * 4


def render(capture: Capture, analysis: Analysis, *, color: bool = False) -> str:
    """The summary of a diagnosis."""
    said = verdict(analysis, conversations(capture))
    style = CALM if said.severity is None else COLORS.get(said.severity, CALM)
    blocks = [
        _paint(_wrap(said.sentence), style, color),
        "\n".join(_sources(capture)),
        "\n\n".join(_findings(capture, analysis, color)),
        "\n".join(_flows(capture, analysis)),
        "\n".join(_not_judged(analysis)),
    ]
    return "\n\n".join(block for block in blocks if block)


def _sources(capture: Capture) -> Iterator[str]:
    for row in capture.sources.iter_rows(named=True):
        noun = "record" if row["tcp_packets"] is None else "packet"
        facts = [row["kind"] or "unknown", count(row["records"] or 0, noun)]
        if row["first_ns"] is not None and row["last_ns"] is not None:
            facts.append(f"{(row['last_ns'] - row['first_ns']) / 1e9:.1f} s")
        if row["complete"] is False:
            facts.append("cut short")
        yield _wrap(f"{row['path']}: {', '.join(facts)}", "  ", "")


def _findings(capture: Capture, analysis: Analysis, color: bool) -> Iterator[str]:
    names = {rule.code: rule.name for rule in analysis.rules}
    start_ns = capture.sources["first_ns"].min() if capture.sources.height else None
    said_of = capture.flows["flow"].is_in([finding.flow for finding in analysis.findings])
    flows = {row["flow"]: row for row in capture.flows.filter(said_of).iter_rows(named=True)}
    for rule, group in groupby(analysis.findings, key=lambda finding: finding.rule):
        same: dict[tuple[Severity, str], list[Finding]] = {}
        for finding in group:
            same.setdefault((finding.severity, finding.message), []).append(finding)
        alike = list(same.values())
        for findings in alike[:FINDINGS_OF_A_RULE]:
            places = [_where(finding, flows, start_ns) for finding in findings]
            yield "\n".join(_finding(findings[0], names.get(rule, ""), places, color))
        if (more := sum(map(len, alike[FINDINGS_OF_A_RULE:]))) > 0:
            yield f"{INDENT}{rule}: {count(more, 'more finding')} of this rule (--json has all)."


def _finding(finding: Finding, name: str, places: list[str], color: bool) -> Iterator[str]:
    """One finding, and all ``places`` where it was made word for word."""
    head = f"{MARKS[finding.severity]} {finding.severity.name.lower()} {finding.rule} {name}"
    sure = f"{finding.confidence.name.lower()} confidence"
    style = COLORS.get(finding.severity, "1")
    yield _paint(head, style, color) + sure.rjust(WIDTH - len(head))
    for place in places[:PLACES_SHOWN]:
        if place:
            yield _wrap(place, INDENT + "  ", INDENT)
    if (more := len(places) - PLACES_SHOWN) > 0:
        yield f"{INDENT}and {count(more, 'more flow')}"
    yield _wrap(finding.message, INDENT)
    for measure in finding.measures if finding.severity > Severity.INFO else ():
        yield _wrap(_measure(measure), INDENT + "    ", INDENT + "  ")
    if finding.action:
        yield _wrap(f"Do: {finding.action}", INDENT + "    ", INDENT)
    if finding.frames:
        yield _wrap(_filter(finding.frames), INDENT + "    ", INDENT)


def _where(finding: Finding, flows: dict[int, dict[str, Any]], start_ns: Any) -> str:
    parts = []
    if finding.flow is not None and finding.flow in flows:
        row = flows[finding.flow]
        ends = [endpoint(row[e], row[f"{e}_port"]) for e in ("client", "server")]
        if finding.forward is False:
            ends.reverse()
        arrow = " <-> " if finding.forward is None else " > "
        parts.append(f"flow {finding.flow}: {arrow.join(ends)}")
    if finding.span_ns and isinstance(start_ns, int):
        first, last = (seconds(ns, start_ns) for ns in finding.span_ns)
        parts.append(first if first == last else f"{first} to {last}")
    return ", ".join(parts)


def _measure(measure: Measure) -> str:
    expected = f" (expected {measure.expected})" if measure.expected else ""
    return f"{measure.name}: {quantity(measure.value, measure.unit)}{expected}"


def _filter(frames: tuple[int, ...]) -> str:
    """A display filter to paste into Wireshark."""
    shown = ", ".join(str(frame) for frame in frames[:FRAMES_SHOWN])
    more = len(frames) - FRAMES_SHOWN
    return f"Wireshark: frame.number in {{{shown}}}" + (f" and {more} more" if more > 0 else "")


def _flows(capture: Capture, analysis: Analysis) -> Iterator[str]:
    shown = flow_lines.that_matter(capture, analysis.findings, FLOWS_SHOWN)
    yield from flow_lines.table(flow_lines.rows(capture, shown))
    if (more := conversations(capture) - len(shown)) > 0:
        yield f"{count(more, 'more flow')}: l4strace flows shows all."


def _not_judged(analysis: Analysis) -> Iterator[str]:
    """What could not be judged, one line per reason: absence is not health."""
    reasons: dict[str, list[str]] = {}
    for skipped in analysis.skipped:
        rules = reasons.setdefault(skipped.reason, [])
        if skipped.rule not in rules:
            rules.append(skipped.rule)
    if reasons:
        yield "Not judged:"
    for reason, rules in list(reasons.items())[:SKIPPED_SHOWN]:
        yield _wrap(f"{', '.join(rules)}: {reason}", INDENT, "  ")
    if (more := len(reasons) - SKIPPED_SHOWN) > 0:
        yield f"  and {count(more, 'more reason')} (--json lists all)."


def _paint(text: str, style: str, color: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if color else text


def _wrap(text: str, indent: str = "", first: str | None = None) -> str:
    return textwrap.fill(
        printable(text),
        WIDTH,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
