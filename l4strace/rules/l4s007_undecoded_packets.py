"""Some packets could not be decoded.

What it checks
--------------
Packets that have an unsupported link type, IP fragments that do not make a whole packet, lengths
that contradict each other, an encrypted or unknown tunnel, no timestamp, or a timestamp before 1970
or after 2116.

Why it matters
--------------
There may be TCP packets among them. A packet that is missing here looks like silence or loss
elsewhere.

Evidence
--------
`stats` rows `unknown_link_type`, `ip_fragments`, `bad_lengths` (left out), `odd_lengths` (used, as
IP states), `opaque`, `no_timestamp` and `bad_timestamps`; `sources.records`.

When it is wrong
----------------
Traffic other than TCP, such as ESP of another service, counts too. Fragments of a tunnel's own
packets count, although their first one shows the packet within.

What to do
----------
Capture inside the tunnel, or on an interface with a supported link type (docs/usage.md lists them).
For fragments, capture without a port filter, which drops all but the first, and lower the MTU or
MSS.

References
----------
https://www.tcpdump.org/linktypes.html
"""

import polars as pl

from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.schema.words import Stat

WORDS = {
    Stat.UNKNOWN_LINK_TYPE: "with an unsupported link type were left out",
    Stat.IP_FRAGMENTS: "in IP fragments that do not make a whole packet were left out",
    Stat.BAD_LENGTHS: "with contradictory length fields were left out",
    Stat.ODD_LENGTHS: "with contradictory length fields were used, by IP's own length",
    Stat.OPAQUE: "in encrypted or unknown tunnels were left out",
    Stat.NO_TIMESTAMP: "without a timestamp were left out",
    Stat.BAD_TIMESTAMPS: "with a timestamp outside 1970 to 2116 were set to the nearest of the two",
}
ACTION = "Capture inside the tunnel, or on an interface with a supported link type."
ACTIONS = {
    Stat.BAD_TIMESTAMPS: "Check the clock of the capturing host.",
    Stat.ODD_LENGTHS: "Keep the original packet lengths when you cut a capture (editcap -s does).",
    Stat.IP_FRAGMENTS: "Capture without a port filter, or lower the MSS so that nothing fragments.",
}
WARNING_SHARE = 0.1
"""Share of all records that makes the finding a warning. By eye."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each input and kind."""
    undecoded = (
        evidence.stats.filter(pl.col("name").is_in(list(WORDS)) & (pl.col("count") > 0))
        .join(evidence.sources.select("source", "records"), on="source", how="left")
        .sort("source", "name")
    )
    return [
        Finding(
            _severity(row),
            Confidence.HIGH,
            f"Packets {WORDS[row['name']]}: {row['count']:,}. {row['detail'] or ''}".rstrip(),
            ACTIONS.get(row["name"], ACTION),
            source=row["source"],
            measures=(
                Measure("such packets", row["count"], "", "0"),
                Measure("all packets", row["records"] or 0),
            ),
        )
        for row in undecoded.iter_rows(named=True)
    ]


def _severity(row: Row) -> Severity:
    many = row["count"] >= WARNING_SHARE * (row["records"] or 0)
    return Severity.WARNING if many and row["name"] != Stat.ODD_LENGTHS else Severity.NOTICE


RULE = Rule.of(__name__, __doc__, check, "Some packets could not be decoded")
