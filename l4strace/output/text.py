"""The terminal summary: verdict first, in the width of the terminal. Its form is not a contract."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

from l4strace.evidence import Capture, traffic
from l4strace.model import Analysis, Finding, Severity
from l4strace.output import flow_lines, path_lines, socket_lines
from l4strace.rules.support import qdiscs
from l4strace.wording import collector_notes, measures, vantages
from l4strace.wording.display_filters import frames_filter
from l4strace.wording.moments import span
from l4strace.wording.names import ends
from l4strace.wording.quantities import count
from l4strace.wording.verdict import Verdict, conversations, counted, verdict
from l4strace.wording.wrap import WIDTH, whole, wrapped

FINDINGS_OF_A_RULE = 3
"""Findings of one rule that are shown in full; the page and JSON have all."""
PLACES_SHOWN = 3
FLOWS_SHOWN = 12
SKIPPED_SHOWN = 12
FRAMES_SHOWN = 5

MARKS = {Severity.ERROR: "x", Severity.WARNING: "!", Severity.NOTICE: "-", Severity.INFO: "i"}
COLORS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTICE: "36"}
CALM = "1;32"
UNJUDGED = "1"
INDENT = " " * 4
LABEL = len("Bottleneck:")
"""Columns of the labels above and below the verdict."""


def render(capture: Capture, analysis: Analysis, *, color: bool = False, width: int = WIDTH) -> str:
    """The summary of a diagnosis in lines of at most ``width`` columns, names never broken."""
    opening = verdict(analysis, counted(capture))
    status = (("L4S", analysis.status.sentence),) if analysis.status else ()
    frame = opening.frame.lines if opening.frame else ()
    blocks = [
        "\n".join(_opening(opening, opening.action(analysis), color, width)),
        "\n".join(_labeled((*status, *frame), color, width)),
        "\n".join(_sources(capture, width)),
        "\n\n".join(_findings(capture, analysis, opening, color, width)),
        "\n".join(_flows(traffic(capture), analysis, width)),
        "\n".join(path_lines.lines(traffic(capture), width)),
        "\n".join(wrapped(text, width) for text in qdiscs.sentences(capture)),
        "\n".join(_not_judged(analysis, width)),
    ]
    return "\n\n".join(block for block in blocks if block)


def _opening(opening: Verdict, action: str, color: bool, width: int) -> Iterator[str]:
    """The headline, the paragraph below it, and the remedy."""
    yield _paint(wrapped(opening.headline, width), _style(opening), color)
    if opening.paragraph:
        yield wrapped(opening.paragraph, width, INDENT)
    if action:
        yield wrapped(f"Do: {action}", width, INDENT + INDENT, INDENT)


def _style(opening: Verdict) -> str:
    """Style of the headline: green only when every rule could judge."""
    if opening.severity is None:
        return CALM if opening.judged else UNJUDGED
    return COLORS.get(opening.severity, CALM)


def _labeled(labels: Iterable[tuple[str, str]], color: bool, width: int) -> Iterator[str]:
    """Sentences under one another, each behind its label."""
    for label, sentence in labels:
        title = whole(f"{label}:".ljust(LABEL))
        lines = wrapped(f"{title} {sentence}", width, " " * (LABEL + 1), "")
        yield lines.replace(f"{label}:", _paint(f"{label}:", "1", color), 1)


def _sources(capture: Capture, width: int) -> Iterator[str]:
    places = vantages.of_sources(capture)
    for row in capture.sources.iter_rows(named=True):
        noun = "record" if row["tcp_packets"] is None else "packet"
        facts = [row["kind"] or "unknown", count(row["records"] or 0, noun)]
        if row["first_ns"] is not None and row["last_ns"] is not None:
            facts.append(f"{(row['last_ns'] - row['first_ns']) / 1e9:.1f} s")
        if (place := places.get(row["source"])) is not None:
            facts.append(place)
        if row["complete"] is False:
            facts.append("cut short")
        yield wrapped(f"{whole(row['path'])}: {', '.join(facts)}", width, "  ", "")
        for note in collector_notes.of_source(capture, row["source"]):
            yield wrapped(f"note: {note}", width, INDENT, "  ")


def _findings(
    capture: Capture, analysis: Analysis, opening: Verdict, color: bool, width: int
) -> Iterator[str]:
    """All findings; the leading one without message and remedy, which the verdict shows."""
    told, action = opening.told, opening.action(analysis)
    names = {rule.code: rule.name for rule in analysis.rules}
    shown = traffic(capture).flows
    accused = shown["flow"].is_in([finding.flow for finding in analysis.findings])
    flows = {row["flow"]: row for row in shown.filter(accused).iter_rows(named=True)}
    for (_, rule), group in groupby(analysis.findings, key=lambda f: (f.severity, f.rule)):
        same: dict[str, list[Finding]] = {}
        for finding in group:
            same.setdefault(finding.message, []).append(finding)
        alike = list(same.values())
        for findings in alike[:FINDINGS_OF_A_RULE]:
            places = [_where(capture, finding, flows) for finding in findings[:PLACES_SHOWN]]
            if (more := len(findings) - PLACES_SHOWN) > 0:
                places.append(f"and {count(more, 'more flow')}")
            one = replace(findings[0], message="") if told in findings else findings[0]
            one = replace(one, action="") if one.action == action else one
            yield "\n".join(_finding(one, names.get(rule, ""), places, color, width))
        if (more := sum(map(len, alike[FINDINGS_OF_A_RULE:]))) > 0:
            yield f"{INDENT}{rule}: {count(more, 'more finding')} of this rule (--json has all)."


def _finding(
    finding: Finding, name: str, places: list[str], color: bool, width: int
) -> Iterator[str]:
    """One finding, and all ``places`` where it was made word for word."""
    head = f"{MARKS[finding.severity]} {finding.severity.name.lower()} {finding.rule} {name}"
    sure = f"{finding.confidence.name.lower()} confidence"
    gap = width - len(head) - len(sure)
    # What does not fit beside the head goes below it.
    beside = " " * gap if gap > 0 else f"\n{INDENT}"
    yield _paint(head, COLORS.get(finding.severity, "1"), color) + beside + sure
    for place in filter(None, places):
        yield wrapped(place, width, INDENT + "  ", INDENT)
    if finding.message:
        yield wrapped(finding.message, width, INDENT)
    for measure in finding.measures if finding.severity > Severity.INFO else ():
        yield wrapped(measures.line(measure), width, INDENT + "    ", INDENT + "  ")
    if finding.action:
        yield wrapped(f"Do: {finding.action}", width, INDENT + "    ", INDENT)
    if finding.frames:
        yield wrapped(_filter(finding.frames), width, INDENT + "    ", INDENT)


def _where(capture: Capture, finding: Finding, flows: dict[int, dict[str, Any]]) -> str:
    parts = []
    if finding.flow is not None and finding.flow in flows:
        arrow = " <-> " if finding.forward is None else " > "
        named = arrow.join(ends(flows[finding.flow], finding.forward))
        parts.append(f"flow {finding.flow}: {named}")
    if finding.span_ns:
        parts.append(whole(span(capture, *finding.span_ns)))
    return ", ".join(parts)


def _filter(frames: tuple[int, ...]) -> str:
    """A display filter to paste into Wireshark."""
    more = len(frames) - FRAMES_SHOWN
    shown = whole(frames_filter(frames[:FRAMES_SHOWN]))
    return f"Wireshark: {shown}" + (f" and {more} more" if more > 0 else "")


def _flows(capture: Capture, analysis: Analysis, width: int) -> Iterator[str]:
    shown = flow_lines.that_matter(capture, analysis.findings, FLOWS_SHOWN)
    logged = list(socket_lines.lines(capture, shown, width))
    yield from logged or flow_lines.table(flow_lines.rows(capture, shown), width)
    if not logged:
        yield from socket_lines.of_senders(capture, shown, width)
    if (more := conversations(capture) - len(shown)) > 0:
        yield f"{count(more, 'more flow')}; l4strace flows lists all."


def _not_judged(analysis: Analysis, width: int) -> Iterator[str]:
    """What could not be judged, one line per reason: absence is not health."""
    reasons: dict[str, list[str]] = {}
    for skipped in analysis.skipped:
        rules = reasons.setdefault(skipped.reason, [])
        if skipped.rule not in rules:
            rules.append(skipped.rule)
    if reasons:
        yield "Not judged:"
    for reason, rules in list(reasons.items())[:SKIPPED_SHOWN]:
        yield wrapped(f"{', '.join(rules)}: {reason}", width, INDENT, "  ")
    if (more := len(reasons) - SKIPPED_SHOWN) > 0:
        yield f"  and {count(more, 'more reason')} (--json has all)."


def _paint(text: str, style: str, color: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if color else text
