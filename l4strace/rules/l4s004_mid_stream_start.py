"""The capture lacks all or part of a handshake.

What it checks
--------------
Flows with data whose three-way handshake is not in the capture, or only in part.

Why it matters
--------------
The handshake decides whether the AE, CWR and ECE flags are the ACE counter or classic ECN. It also
carries the window scale, and it reflects the ECN field with which SYN and SYN/ACK arrived. Without
it the ECN mode may be unknown, windows cannot be scaled, and the handshake cannot show bleaching.

Evidence
--------
`flows.handshake`; `directions.payload_bytes` leaves out flows without data.

When it is wrong
----------------
The finding itself is certain. The other results may still be right: AE or an AccECN option in a
later packet proves that AccECN was negotiated.

What to do
----------
Start the capture before the traffic, and capture where both directions pass.

References
----------
RFC 9768 section 3.1
"""

import polars as pl

from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped

LACKING = {
    "none": "The capture has no handshake packet of this flow",
    "partial": "The capture has only part of this flow's handshake",
}


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow that carried data."""
    if not (evidence.flows["handshake"] != "full").any():
        return []
    payload = evidence.directions.group_by("source", "flow").agg(pl.col("payload_bytes").sum())
    late = (
        evidence.flows.filter(pl.col("handshake") != "full")
        .join(payload, on=["source", "flow"])
        .filter(pl.col("payload_bytes") > 0)
    )
    return [_finding(row) for row in late.iter_rows(named=True)]


def _finding(row: Row) -> Finding:
    lacking = LACKING.get(row["handshake"], LACKING["partial"])
    return Finding(
        Severity.NOTICE,
        Confidence.HIGH,
        f"{lacking}: the negotiated ECN mode, the window scale and the ECN field of SYN and "
        "SYN/ACK on arrival may be unknown.",
        "Start the capture before the traffic, where both directions pass.",
        source=row["source"],
        flow=row["flow"],
        measures=(Measure("handshake", row["handshake"], "", "full"),),
    )


RULE = Rule.of(__name__, __doc__, check, "The capture lacks a handshake")
