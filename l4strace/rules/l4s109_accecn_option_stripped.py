"""The AccECN TCP option is removed or rewritten on the path.

What it checks
--------------
With captures at both ends: packets that left with an AccECN option and arrived without it, or with
other counters.

Why it matters
--------------
The option's byte counters make feedback exact when ACKs are lost or thinned. Without them the
sender falls back to the three ACE bits and, to be safe, may count marks that never were.

Evidence
--------
`paths.option_stripped` and `option_changed`.

When it is wrong
----------------
Absent options are normal: a receiver sends them only now and then, so one capture alone cannot show
that they were removed.

What to do
----------
Find the middlebox that removes unknown TCP options (kinds 172 and 174), or that merges ACKs.

References
----------
RFC 9768 section 3.2.3.2
"""

from __future__ import annotations

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped

CODE = "L4S109"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow direction whose options did not arrive as they left."""
    if not evidence.paths.height:
        return [Skipped(CODE, "needs captures at both ends of the path")]
    rows = evidence.paths.filter((pl.col("option_stripped") > 0) | (pl.col("option_changed") > 0))
    return [
        Finding(
            CODE,
            Severity.WARNING,
            Confidence.HIGH,
            f"AccECN options do not arrive as they left: {row['option_stripped']:,} were removed "
            f"and {row['option_changed']:,} rewritten.",
            "Find the middlebox that removes unknown TCP options or merges ACKs.",
            source=row["near"],
            flow=row["flow"],
            forward=row["forward"],
            measures=(
                Measure("options removed", row["option_stripped"], "", "0"),
                Measure("options rewritten", row["option_changed"], "", "0"),
            ),
        )
        for row in rows.iter_rows(named=True)
    ]


RULE = Rule(CODE, "accecn-option-stripped", "The AccECN option is removed.", check, __doc__)
