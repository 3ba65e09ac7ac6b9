"""Connections without data were too many to keep.

What it checks
--------------
Whether a scan or a flood of SYNs made more than 65,536 connections that carry no data.

Why it matters
--------------
l4strace keeps the latest of them and only counts the others, so that memory stays bounded: those
are in no table. Connections with data are not affected, unless they were silent for long before
they began to send.

Evidence
--------
`stats` row `flows_folded`.

When it is wrong
----------------
Never: it states what was left out.

What to do
----------
Capture with a filter for the hosts or ports under test.

References
----------
RFC 4987
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.schema.words import Stat


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each input."""
    folded = evidence.stats.filter(pl.col("name") == Stat.FLOWS_FOLDED).sort("source")
    return [
        Finding(
            Severity.NOTICE,
            Confidence.HIGH,
            f"A scan or a flood of SYNs: {row['count']:,} connections without data were counted "
            "and are in no table.",
            "Capture with a filter for the hosts or ports under test.",
            source=row["source"],
            measures=(Measure("connections left out", row["count"], "", "0"),),
        )
        for row in folded.iter_rows(named=True)
    ]


RULE = Rule.of(__name__, __doc__, check, "A flood of connections without data")
