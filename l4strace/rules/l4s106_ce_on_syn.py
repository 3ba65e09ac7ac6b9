"""The SYN or SYN/ACK arrived with CE.

What it checks
--------------
Handshake packets that carry CE where they were captured, or that their receiver reflects as CE.

Why it matters
--------------
A single packet that opens a connection cannot have built a queue. CE on it means that the queue was
full already, that the path marks everything, or that something sets both bits of the field.

Evidence
--------
`flows.syn_ecn`, `synack_ecn`, `syn_arrived_ecn`, `synack_arrived_ecn`.

When it is wrong
----------------
A saturated L4S queue marks every ECT packet, SYNs too: look whether later packets are marked less.

What to do
----------
If every packet of the flow is CE too (L4S403), look for a node that sets the field. Otherwise look
for the traffic that filled the queue before this flow began.

References
----------
RFC 9768 section 3.2.2.2, RFC 9331 section 5.2
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.derive.vantage import first
from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.schema.words import ECN_FIELD

CODE = "L4S106"
NAMES = ECN_FIELD
CE = 3
ILLEGAL = 0
"""CE on a packet that left as Not-ECT: no queue may do that."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each handshake packet with CE."""
    found: list[Finding | Skipped] = []
    for forward, packet, sent, arrived in (
        (True, "SYN", "syn_ecn", "syn_arrived_ecn"),
        (False, "SYN/ACK", "synack_ecn", "synack_arrived_ecn"),
    ):
        rows = evidence.flows.filter((pl.col(sent) == CE) | (pl.col(arrived) == CE))
        rows = first(evidence, rows.with_columns(forward=forward))
        found += [_finding(row, forward, packet, row[sent]) for row in rows.iter_rows(named=True)]
    return found


def _finding(row: dict[str, Any], forward: bool, packet: str, sent: int | None) -> Finding:
    frames = (row["syn_frame"], row["synack_frame"], row["final_ack_frame"])
    if sent == CE and row["vantage"] == ("client" if forward else "server"):
        message = f"The {packet} leaves its sender with CE, which only a queue may set."
    elif sent == CE:
        message = f"The {packet} carries CE here already: a queue before this point was full."
    elif sent == ILLEGAL:
        message = f"The {packet} left here as Not-ECT and arrived as CE, which no queue may do."
    else:
        left = f"as {NAMES[sent]} " if sent is not None else ""
        message = f"The {packet} left here {left}and arrived with CE: the queue was full already."
    return Finding(
        CODE,
        Severity.WARNING if sent == ILLEGAL else Severity.NOTICE,
        Confidence.HIGH if sent == CE else Confidence.MEDIUM,
        message,
        "See whether later packets are marked less; if not, look for a node that sets the field.",
        source=row["source"],
        flow=row["flow"],
        forward=forward,
        frames=tuple(frame for frame in frames if frame is not None),
        measures=(Measure(f"{packet} as it arrived", "CE", "", "no CE"),),
    )


RULE = Rule(CODE, "ce-on-syn", "A handshake packet carries CE.", check, __doc__)
