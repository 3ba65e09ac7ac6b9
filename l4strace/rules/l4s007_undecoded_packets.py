"""Some packets could not be decoded.

What it checks
--------------
Packets of unknown link types, with lengths that contradict each other, of encrypted or unknown
tunnels, and without a time stamp.

Why it matters
--------------
TCP packets may hide among them: what is missing here looks like silence or loss elsewhere.

Evidence
--------
`stats` rows of severity `loss` or `error` that no other rule reports.

When it is wrong
----------------
Traffic that never was TCP, such as ESP of another service, is counted too.

What to do
----------
Capture inside the tunnel, or on an interface with a link type that is supported (the README lists
them).

References
----------
https://www.tcpdump.org/linktypes.html
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.schema.words import Stat

CODE = "L4S007"
WORDS = {
    Stat.UNKNOWN_LINK_TYPE: "of a link type that is not supported",
    Stat.BAD_LENGTHS: "with lengths that contradict each other",
    Stat.OPAQUE: "that are encrypted or of an unknown tunnel",
    Stat.NO_TIMESTAMP: "without a time stamp",
}
MANY = 0.1
"""Share of all records from which the picture of the run is doubtful."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each input and kind."""
    undecoded = (
        evidence.stats.filter(pl.col("name").is_in(list(WORDS)) & (pl.col("count") > 0))
        .join(evidence.sources.select("source", "records"), on="source", how="left")
        .sort("source", "name")
    )
    return [
        Finding(
            CODE,
            Severity.WARNING if row["count"] >= MANY * (row["records"] or 0) else Severity.NOTICE,
            Confidence.HIGH,
            f"Packets {WORDS[row['name']]} were left out: {row['count']:,}. {row['detail'] or ''}",
            "Capture inside the tunnel or on an interface whose link type is supported.",
            source=row["source"],
            measures=(
                Measure("packets left out", row["count"], "", "0"),
                Measure("packets in all", row["records"] or 0),
            ),
        )
        for row in undecoded.iter_rows(named=True)
    ]


RULE = Rule(CODE, "undecoded-packets", "Some packets could not be decoded.", check, __doc__)
