"""Which flow directions a rule speaks of, and how it names them."""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.derive.vantage import first as first
from l4strace.derive.vantage import once as once
from l4strace.derive.vantage import rounds as rounds
from l4strace.evidence import Evidence
from l4strace.model import Finding, Skipped
from l4strace.schema.keys import DIRECTION as DIRECTION
from l4strace.schema.keys import KEY as KEY
from l4strace.wording.moments import moment as moment

MOST_FINDINGS = 20
"""Findings of one rule that name their flow, as in L4S004."""

ISOLATED_CONFIDENCE = 0.8
"""Bottleneck classes from here on rest on what the other flows of the path saw."""


def capped(said: list[Finding | Skipped]) -> list[Finding | Skipped]:
    """The worst findings of a rule, and one that counts the rest: a page must stay readable."""
    found = [said_one for said_one in said if isinstance(said_one, Finding)]
    if len(found) <= MOST_FINDINGS:
        return said
    skipped = [said_one for said_one in said if isinstance(said_one, Skipped)]
    found.sort(key=lambda finding: (-finding.severity, -finding.confidence))
    rest = found[MOST_FINDINGS:]
    last = Finding(
        rest[0].rule,
        rest[0].severity,
        rest[0].confidence,
        f"The same kind of finding holds of {len(rest):,} more flow directions.",
    )
    return [*found[:MOST_FINDINGS], last, *skipped]


def scalable(evidence: Evidence) -> pl.DataFrame:
    """Directions whose sender marks its data ECT(1): L4S is what it means."""
    ect1 = pl.col("data_ect1").fill_null(0)
    others = pl.col("data_ect0").fill_null(0) + pl.col("data_not_ect").fill_null(0)
    return once(evidence, evidence.directions.filter((ect1 > 0) & (ect1 >= others))).select(KEY)


def bottlenecks(evidence: Evidence) -> pl.DataFrame:
    """One bottleneck a direction, keyed by flow and direction only."""
    return once(evidence, evidence.bottlenecks).drop("source")


def named(evidence: Evidence, flow: int) -> str:
    """`flow 3 (port 40002, ECT(0))`: enough to tell the two sides of a comparison apart."""
    row = _first(evidence.flows.filter(pl.col("flow") == flow))
    if row is None:
        return f"flow {flow}"
    sent = evidence.directions.filter(pl.col("flow") == flow).sum()
    counts = {
        name: int(sent[column][0] or 0)
        for name, column in (
            ("ECT(1)", "data_ect1"),
            ("ECT(0)", "data_ect0"),
            ("Not-ECT", "data_not_ect"),
        )
    }
    return f"flow {flow} (port {row['client_port']}, {max(counts, key=lambda c: counts[c])})"


def at(evidence: Evidence, row: dict[str, Any], ns: int | None) -> dict[str, Any]:
    """`source` and `frames` of the round in which something happened, for a finding to point at."""
    if ns is None or row.get("flow") is None or evidence.rounds.is_empty():
        return {}
    near = rounds(evidence).filter(
        (pl.col("flow") == row["flow"]) & (pl.col("forward") == row["forward"])
    )
    found = _first(near.filter((pl.col("start_ns") <= ns) & (pl.col("end_ns") >= ns)))
    if found is None or found["first_frame"] is None:
        return {}
    return {"source": found["source"], "frames": (found["first_frame"], found["last_frame"])}


def titled(evidence: Evidence, flow: int) -> str:
    """The same at the begin of a sentence."""
    name = named(evidence, flow)
    return name[0].upper() + name[1:]


def _first(frame: pl.DataFrame) -> dict[str, Any] | None:
    return frame.row(0, named=True) if frame.height else None


def starved_by(evidence: Evidence, flow: int) -> str:
    """`; flow 3 (port 40002, ECT(0)) is left with 8 % from t=0.6 s`, or nothing."""
    victims = once(evidence, evidence.coexistence).filter(
        (pl.col("other_flow") == flow) & pl.col("starved_since_ns").is_not_null()
    )
    row = _first(victims.sort("share"))
    if row is None:
        return ""
    since = moment(evidence, row["starved_since_ns"])
    left = f"{named(evidence, row['flow'])} is left with {100 * row['share']:.0f} %"
    return f"; {left} from {since}"
