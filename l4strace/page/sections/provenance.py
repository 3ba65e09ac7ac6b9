"""Provenance: inputs with their checksums and clocks, versions, and the command line."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import jinja2
import polars as pl

from l4strace.core import _native
from l4strace.page.case import Case
from l4strace.page.drawing import bundle
from l4strace.wording.amounts import data_size, duration
from l4strace.wording.moments import utc
from l4strace.wording.quantities import count

TITLE = "Provenance"


class SourceRow(NamedTuple):
    """One input."""

    path: str
    kind: str
    facts: tuple[str, ...]
    clock: str
    span: str
    sha256: str
    comment: str


class ProvenanceSection(NamedTuple):
    """``stamp`` is empty unless it was asked for: the same input gives the same page."""

    sources: tuple[SourceRow, ...]
    command: str
    versions: tuple[tuple[str, str], ...]
    stamp: str


def build(case: Case) -> ProvenanceSection:
    """Every input in order."""
    return ProvenanceSection(
        tuple(_source(row) for row in case.evidence.sources.iter_rows(named=True)),
        case.command,
        _versions(),
        case.stamp or "",
    )


def _versions() -> tuple[tuple[str, str], ...]:
    # Not from the packages' metadata: to import what reads those takes longer than this section.
    return (
        ("Python", sys.version.partition(" ")[0]),
        ("l4strace", _native.__version__),
        ("polars", pl.__version__),
        ("jinja2", jinja2.__version__),
        ("plotly.js", bundle.version()),
    )


def _source(row: dict[str, Any]) -> SourceRow:
    kind = row["kind"] or "unknown"
    return SourceRow(
        path=row["path"] or "",
        kind=f"{kind}, {row['compression']}" if row["compression"] else kind,
        facts=_facts(row),
        clock=_clock(row),
        span=_span(row),
        sha256=row["sha256"] or "",
        comment=row["comment"] or "",
    )


def _facts(row: dict[str, Any]) -> tuple[str, ...]:
    facts = []
    if row["records"] is not None:
        facts.append(count(row["records"], "record"))
    if row["tcp_packets"] is not None:
        facts.append(f"{row['tcp_packets']:,} TCP")
    if row["udp_packets"]:
        facts.append(f"{row['udp_packets']:,} UDP")
    if row["bytes"] is not None:
        facts.append(data_size(row["bytes"]))
    if row["link_types"]:
        facts.append(row["link_types"])
    if row["snaplen"]:
        facts.append(f"snaplen {row['snaplen']:,}")
    if row["resolution_ns"]:
        facts.append(f"timestamps of {row['resolution_ns']:,} ns")
    if row["complete"] is False:
        facts.append("cut short")
    return tuple(facts)


def _clock(row: dict[str, Any]) -> str:
    text = row["clock"] or "unknown"
    if row["clock_offset_ns"]:
        text += f", {row['clock_offset_ns']:+,} ns added"
    if row["clock_residual_ns"] is not None:
        text += f", matched events agree within {duration(row['clock_residual_ns'] / 1e3)}"
    return text


def _span(row: dict[str, Any]) -> str:
    if row["first_ns"] is None or row["last_ns"] is None:
        return ""
    return f"{utc(row['first_ns'])}, {(row['last_ns'] - row['first_ns']) / 1e9:,.3f} s"
