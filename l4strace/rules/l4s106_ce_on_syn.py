"""The SYN or SYN/ACK carries CE, or arrived with CE.

What it checks
--------------
Handshake packets that carry CE at the capture, or that their receiver reflects as CE.

Why it matters
--------------
A single packet that opens a connection cannot build a queue. CE on it means that the queue was full
already, that the AQM marks every packet, or that a node sets both bits of the field.

Evidence
--------
`flows.syn_ecn`, `synack_ecn`, `syn_arrived_ecn`, `synack_arrived_ecn` and `vantage`.

When it is wrong
----------------
A saturated L4S queue marks every ECT packet, SYNs too: check whether later packets are marked less.

What to do
----------
If every packet of the flow is CE (L4S403), look for a node that sets the field. Otherwise look for
the traffic that filled the queue before this flow began.

References
----------
RFC 9768 sections 3.1.1 and 3.2.2.1 (reflection), RFC 3168 section 5 (CE)
"""

import polars as pl

from l4strace.derive.vantage import first
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects
from l4strace.schema.words import CE, ECN_FIELD, NOT_ECT
from l4strace.wording.vantages import of_direction


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each handshake packet with CE."""
    found: list[Finding | Skipped] = []
    for forward, packet, sent, arrived, _ in subjects.HANDSHAKE:
        rows = evidence.flows.filter((pl.col(sent) == CE) | (pl.col(arrived) == CE))
        if rows.is_empty():
            continue
        rows = first(evidence, rows.with_columns(forward=forward))
        found += [_finding(row, forward, packet, row[sent]) for row in rows.iter_rows(named=True)]
    return found


def _finding(row: Row, forward: bool, packet: str, sent: int | None) -> Finding:
    if sent == CE and of_direction(row, forward) == "sender":
        message = f"The {packet} carries CE at its sender already. Only a queue may set CE."
    elif sent == CE:
        message = (
            f"The {packet} carries CE at this capture already: an earlier queue marked it, or a "
            "node sets the field."
        )
    elif sent == NOT_ECT:
        message = (
            f"The {packet} was Not-ECT at this capture and arrived with CE: no queue may mark a "
            "Not-ECT packet."
        )
    else:
        left = f"was {ECN_FIELD[sent]} at this capture and " if sent is not None else ""
        message = (
            f"The {packet} {left}arrived with CE: a queue marked it already, or a node sets "
            "the field."
        )
    return Finding(
        Severity.WARNING if sent == NOT_ECT else Severity.NOTICE,
        Confidence.HIGH if sent == CE else Confidence.MEDIUM,
        message,
        "Check whether later packets are marked less. If not, look for a node that sets the field.",
        source=row["source"],
        flow=row["flow"],
        forward=forward,
        frames=(row["syn_frame"], row["synack_frame"], row["final_ack_frame"]),
        measures=(Measure(f"{packet} as it arrived", "CE", "", "no CE"),),
    )


RULE = Rule.of(__name__, __doc__, check, "A handshake packet carries CE")
