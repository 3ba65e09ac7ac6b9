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

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped

CODE = "L4S004"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow that carried data."""
    payload = evidence.directions.group_by("source", "flow").agg(pl.col("payload_bytes").sum())
    late = (
        evidence.flows.filter(pl.col("handshake") != "full")
        .join(payload, on=["source", "flow"])
        .filter(pl.col("payload_bytes") > 0)
    )
    return [_finding(row) for row in late.iter_rows(named=True)]


def _finding(row: dict[str, Any]) -> Finding:
    return Finding(
        CODE,
        Severity.NOTICE,
        Confidence.HIGH,
        "The flow began before the capture did: negotiation, window scale and reflection are "
        "unknown.",
        "Start the capture before the traffic.",
        source=row["source"],
        flow=row["flow"],
        measures=(Measure("handshake", row["handshake"], "", "full"),),
    )


RULE = Rule(CODE, "mid-stream-start", "The capture misses the handshake.", check, __doc__)
