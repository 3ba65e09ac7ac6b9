"""The AccECN TCP option is removed or rewritten on the path.

What it checks
--------------
With captures at both ends: packets that left with an AccECN option and arrived without it, or with
changed counters.

Why it matters
--------------
The option's byte counters keep the feedback exact when ACKs are lost or thinned. Without them the
sender has only the three ACE bits and may, to be safe, count more marks than there were.

Evidence
--------
`paths.option_stripped` and `option_changed`.

When it is wrong
----------------
Packets without the option are normal: a receiver does not send it on every ACK.

What to do
----------
Find the middlebox that removes or rewrites TCP options (kinds 172 and 174), or merges ACKs.

References
----------
RFC 9768 sections 3.2.3 (kinds) and 3.2.3.2 (path traversal)
"""

import polars as pl

from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow direction whose options did not arrive as they left."""
    if not evidence.paths.height:
        return [Skipped("needs captures at both ends of the path")]
    rows = evidence.paths.filter((pl.col("option_stripped") > 0) | (pl.col("option_changed") > 0))
    return [
        Finding(
            Severity.WARNING,
            Confidence.HIGH,
            f"The path changes AccECN options: it {_done(row)}.",
            "Find the middlebox that removes or rewrites TCP options, or merges ACKs.",
            **direction_of(row),
            measures=(
                Measure("options removed", row["option_stripped"], "", "0"),
                Measure("options rewritten", row["option_changed"], "", "0"),
            ),
        )
        for row in rows.iter_rows(named=True)
    ]


def _done(row: Row) -> str:
    """`removed 3 and rewrote 12 of them`."""
    done = (("removed", row["option_stripped"]), ("rewrote", row["option_changed"]))
    what = " and ".join(f"{verb} {number:,}" for verb, number in done if number)
    return f"{what} of them"


RULE = Rule.of(__name__, __doc__, check, "The path changes AccECN options")
