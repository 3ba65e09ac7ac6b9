"""The AccECN option and the ACE counter tell different stories.

What it checks
--------------
Acknowledgements whose CE byte counter moves without a step of ACE, or the other way round.

Why it matters
--------------
Both count the same marks, one in bytes and one in packets. When they disagree one of them is
changed on the path or counted wrongly, and the sender's share of marks is off.

Evidence
--------
`directions.option_contradicts_ace` against `accecn_options`.

When it is wrong
----------------
ACE counts marked packets without payload too, the option only bytes; a handful of contradictions in
a long flow can come from marked pure ACKs or reordered feedback.

What to do
----------
Compare the ACE bits at both ends (L4S108, L4S109), and report it to the stack's authors if the path
is clean.

References
----------
RFC 9768 section 3.2.3.2.4
"""

from __future__ import annotations

import polars as pl

from l4strace.derive.vantage import first
from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped

CODE = "L4S111"
FEW = 3
SHARE = 0.02
"""Contradictions that marked pure ACKs and reordering can explain."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction of feedback that contradicts itself."""
    rows = evidence.directions.filter(
        (pl.col("option_contradicts_ace") >= FEW)
        & (pl.col("option_contradicts_ace") >= SHARE * pl.col("accecn_options"))
    )
    rows = first(evidence, rows)
    return [
        Finding(
            CODE,
            Severity.WARNING,
            Confidence.MEDIUM,
            f"In {row['option_contradicts_ace']:,} of {row['accecn_options']:,} options the CE "
            "bytes and the ACE counter contradict each other: one of the two is wrong.",
            "Compare the ACE bits and options at both ends of the path.",
            source=row["source"],
            flow=row["flow"],
            forward=row["forward"],
            frames=() if row["option_fault_frame"] is None else (row["option_fault_frame"],),
            measures=(
                Measure("contradictions", row["option_contradicts_ace"], "", "0"),
                Measure("options", row["accecn_options"]),
            ),
        )
        for row in rows.iter_rows(named=True)
    ]


RULE = Rule(CODE, "accecn-option-contradicts-ace", "AccECN option against ACE.", check, __doc__)
