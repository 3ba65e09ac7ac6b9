"""Which packets to look for: those that a finding names, and those that show most around them."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from l4strace.derive.vantage import nearest
from l4strace.evidence import Capture
from l4strace.ingest import file_names
from l4strace.model import Analysis, Finding
from l4strace.schema.words import CAPTURES
from l4strace.wording.order import readable

MOST_FINDINGS = 30
"""Findings whose packets are looked up, the worst first."""
MOST_OF_A_RULE = 3
"""Findings of one rule whose packets are looked up: more would repeat the same proof."""
NEGOTIATION = "L4S1"
"""Rules on negotiation and on what the path does to codepoints."""
NOT_AGAIN = "A capture from a pipe cannot be read twice: name a file to see its packets."


class Lookup(NamedTuple):
    """What to look for in ``source`` for the finding at ``place`` of the analysis.

    ``frames`` are those that the finding names. ``flow`` and the span on the run's clock bound the
    packets around them; null: only the named ones.
    """

    place: int
    source: int
    frames: frozenset[int]
    flow: int | None
    span_ns: tuple[int, int] | None
    losses: bool
    """Retransmissions are part of the proof: not where a handshake or the path is at fault."""


def of_findings(capture: Capture, analysis: Analysis) -> tuple[tuple[Lookup, ...], str]:
    """Lookups in the order of the findings, and why some captures are left out, or nothing."""
    readable_sources = _sources(capture)
    flows = sorted({f.flow for f in analysis.findings if f.flow is not None})
    near = {
        (flow, forward): source
        for source, flow, forward, _ in nearest(capture).filter(pl.col("flow").is_in(flows)).rows()
    }
    found = []
    for place in readable(analysis.findings, MOST_OF_A_RULE, MOST_FINDINGS):
        finding = analysis.findings[place]
        source = _source(finding, near)
        if source in readable_sources and (finding.frames or finding.flow is not None):
            frames = frozenset(finding.frames)
            losses = not finding.rule.startswith(NEGOTIATION)
            found.append(Lookup(place, source, frames, finding.flow, finding.span_ns, losses))
    captures = capture.sources.filter(pl.col("kind").is_in(CAPTURES)).height
    return tuple(found), NOT_AGAIN if len(readable_sources) < captures else ""


def _sources(capture: Capture) -> set[int]:
    """Numbers of captures that are files."""
    captures = capture.sources.filter(pl.col("kind").is_in(CAPTURES))
    rows = captures.select("source", "path").iter_rows()
    return {source for source, path in rows if file_names.read_twice(path)}


def _source(finding: Finding, near: dict[tuple[int, bool], int]) -> int:
    """The capture that a finding is about: as it states, or the one nearest to the sender."""
    if finding.source is not None or finding.flow is None:
        return finding.source or 0
    forward = True if finding.forward is None else finding.forward
    return near.get((finding.flow, forward), near.get((finding.flow, not forward), 0))
