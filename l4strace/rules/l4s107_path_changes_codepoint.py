"""The path changes ECN codepoints in a way that no queue may.

What it checks
--------------
With captures at both ends: packets that left as Not-ECT and arrived with another codepoint, and
packets that left as CE and arrived with another codepoint. L4S104 reports ECT that became Not-ECT,
L4S105 reports ECT(1) and ECT(0) swapped.

Why it matters
--------------
If CE is cleared, the sender does not learn of the congestion and keeps filling the queue. If ECT is
set on packets of a sender without ECN, no sender responds to their marks.

Evidence
--------
`paths.not_ect_to_ect1`, `not_ect_to_ect0`, `not_ect_to_ce`, `ce_to_not_ect`, `ce_to_ect1` and
`ce_to_ect0`, out of `matched`.

When it is wrong
----------------
l4strace matches packets of TCP by sequence number, IP id and timestamp option, those of UDP by
length and first 32 bytes. If the path rewrites these, fewer packets match; the matches remain
correct.

What to do
----------
Find the node between the two captures: move one capture hop by hop.

References
----------
RFC 3168 section 18, RFC 6040
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.schema.words import CODEPOINTS
from l4strace.wording.quantities import count

CHANGES = tuple(
    (left, arrived) for left in ("not_ect", "ce") for arrived in CODEPOINTS if left != arrived
)


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow direction and kind of change."""
    if not evidence.paths.height:
        return [Skipped("needs captures at both ends of the path")]
    found: list[Finding | Skipped] = []
    for left, arrived in CHANGES:
        column = f"{left}_to_{arrived}"
        for row in evidence.paths.filter(pl.col(column) > 0).iter_rows(named=True):
            found.append(
                Finding(
                    Severity.ERROR,
                    Confidence.HIGH,
                    f"{row[column]:,} of {count(row['matched'], 'packet')} left as "
                    f"{CODEPOINTS[left]} and arrived as {CODEPOINTS[arrived]}: no queue may make "
                    "this change.",
                    "Find the node between the two captures: move one capture hop by hop.",
                    **direction_of(row),
                    frames=(row["first_change_frame_near"],),
                    measures=(Measure("changed packets", row[column], "", "0"),),
                )
            )
    return found


RULE = Rule.of(__name__, __doc__, check, "The path changes ECN codepoints")
