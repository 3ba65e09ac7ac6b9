"""The path changes codepoints in a way that no queue may.

What it checks
--------------
With captures at both ends: packets that left as Not-ECT and arrived with any other codepoint, and
packets that left as CE and arrived as anything else. Bleaching is L4S104, swapping ECT(1) and
ECT(0) is L4S105.

Why it matters
--------------
CE that is cleared hides congestion from the sender: it keeps filling the queue. ECT set on packets
of a sender without ECN means that nobody will answer their marks.

Evidence
--------
`paths`: matched packets by codepoint near the sender and near the receiver.

When it is wrong
----------------
Packets are matched by sequence number, IP id and time stamp option. A path that rewrites these
leaves fewer matches, not wrong ones.

What to do
----------
Find the node between the two captures: move one of them hop by hop.

References
----------
RFC 3168 section 18, RFC 6040
"""

from __future__ import annotations

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.schema.words import CODEPOINTS

CODE = "L4S107"
NAMES = CODEPOINTS
CHANGES = tuple(
    (left, arrived) for left in ("not_ect", "ce") for arrived in NAMES if left != arrived
)


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow direction and kind of change."""
    if not evidence.paths.height:
        return [Skipped(CODE, "needs captures at both ends of the path")]
    found: list[Finding | Skipped] = []
    for left, arrived in CHANGES:
        column = f"{left}_to_{arrived}"
        for row in evidence.paths.filter(pl.col(column) > 0).iter_rows(named=True):
            frame = row["first_change_frame_near"]
            found.append(
                Finding(
                    CODE,
                    Severity.ERROR,
                    Confidence.HIGH,
                    f"{row[column]:,} of {row['matched']:,} packets left as {NAMES[left]} and "
                    f"arrived as {NAMES[arrived]}, which no queue may do.",
                    "Find the node between the two captures: move one of them hop by hop.",
                    source=row["near"],
                    flow=row["flow"],
                    forward=row["forward"],
                    frames=() if frame is None else (frame,),
                    measures=(Measure("changed packets", row[column], "", "0"),),
                )
            )
    return found


RULE = Rule(CODE, "path-changes-codepoint", "The path changes codepoints.", check, __doc__)
