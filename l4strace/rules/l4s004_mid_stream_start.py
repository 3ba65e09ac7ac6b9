"""The capture began after the connection did.

What it checks
--------------
Flows whose three-way handshake is not, or only in part, in the capture.

Why it matters
--------------
The handshake decides whether the three flag bits are an AccECN counter or classic ECN, carries the
window scale, and reflects how SYN and SYN/ACK arrived. Without it the mode is unknown, windows
cannot be scaled and bleaching cannot be seen.

Evidence
--------
`flows.handshake`, `flows.mode`.

When it is wrong
----------------
It is not: but what follows may still be right, because an AccECN option proves the mode later.

What to do
----------
Start the capture before the traffic.

References
----------
RFC 9768 section 3.1
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped

CODE = "L4S004"
SINGLE = 20
"""Flows of one input that get a finding each; more are said in one."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding per flow, or one per input when there are many."""
    payload = evidence.directions.group_by("source", "flow").agg(pl.col("payload_bytes").sum())
    late = (
        evidence.flows.filter(pl.col("handshake") != "full")
        .join(payload, on=["source", "flow"])
        .filter(pl.col("payload_bytes") > 0)
    )
    said: list[Finding | Skipped] = []
    for (source,), rows in late.group_by("source", maintain_order=True):
        if rows.height > SINGLE:
            said.append(_finding(f"{rows.height:,} flows begin", source=int(str(source))))
        else:
            said += [
                _finding(
                    "The flow began",
                    source=row["source"],
                    flow=row["flow"],
                    measures=(Measure("handshake", row["handshake"], "", "full"),),
                )
                for row in rows.iter_rows(named=True)
            ]
    return said


def _finding(
    what: str, source: int, flow: int | None = None, measures: tuple[Measure, ...] = ()
) -> Finding:
    return Finding(
        CODE,
        Severity.NOTICE,
        Confidence.HIGH,
        f"{what} before the capture did: negotiation, window scale and reflection are unknown.",
        "Start the capture before the traffic.",
        source=source,
        flow=flow,
        measures=measures,
    )


RULE = Rule(CODE, "mid-stream-start", "The capture misses the handshake.", check, __doc__)
