"""The AccECN option and the ACE counter contradict each other.

What it checks
--------------
Acknowledgements in which the CE byte counter increases and ACE does not, or the reverse.

Why it matters
--------------
Both count the same marks, one in bytes and one in packets. When they disagree, the path changes one
of them or the receiver counts wrongly, and the sender computes a wrong share of marks.

Evidence
--------
`directions.option_contradicts_ace` against `accecn_options`.

When it is wrong
----------------
ACE also counts marked packets without payload, and the option counts only payload bytes. In a long
flow, marked pure ACKs or reordered feedback cause a few contradictions.

What to do
----------
Compare the ACE bits and options at both ends (L4S108, L4S109). If the path changes neither, report
the fault to the authors of the receiver's stack.

References
----------
RFC 9768 section 3.2.3.2.5 (consistency of the feedback fields)
"""

import polars as pl

from l4strace.derive.vantage import first
from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of

MAX_STRAY_OPTIONS = 3
MAX_STRAY_SHARE = 0.02
"""Contradictions, and their share of the options, that marked pure ACKs and reordering do not
explain. By eye."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction of feedback that contradicts itself."""
    rows = evidence.directions.filter(
        (pl.col("option_contradicts_ace") >= MAX_STRAY_OPTIONS)
        & (pl.col("option_contradicts_ace") >= MAX_STRAY_SHARE * pl.col("accecn_options"))
    )
    rows = first(evidence, rows)
    return [
        Finding(
            Severity.WARNING,
            Confidence.MEDIUM,
            f"In {row['option_contradicts_ace']:,} of {row['accecn_options']:,} AccECN options, "
            "the CE byte counter contradicts the ACE counter: one of the two is wrong.",
            "Compare the ACE bits and options at both ends of the path.",
            **direction_of(row),
            frames=(row["option_fault_frame"],),
            measures=(
                Measure("contradictions", row["option_contradicts_ace"], "", "0"),
                Measure("options", row["accecn_options"]),
            ),
        )
        for row in rows.iter_rows(named=True)
    ]


RULE = Rule.of(__name__, __doc__, check, "AccECN option and ACE contradict each other")
