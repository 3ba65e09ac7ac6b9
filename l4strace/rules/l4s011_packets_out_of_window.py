"""Packets do not fit their connection.

What it checks
--------------
Packets whose sequence or acknowledgement number lies more than 32 MiB outside of what the
connection had in flight, and that no other packets around them confirm.

Why it matters
--------------
The hosts discard such packets (RFC 9293 section 3.10.7.4), and so does l4strace: they move no
counter. They may come from an attacker who injects packets, from a middlebox, or from an old
connection on the same ports.

Evidence
--------
`directions.out_of_window`.

When it is wrong
----------------
After a gap in the capture the first few packets may count here, until those that follow confirm
them.

What to do
----------
If they are resets or many, find where they come from: compare their TTL with that of the other
packets.

References
----------
RFC 9293 section 3.10.7.4, RFC 5961
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow direction with such packets."""
    strays = evidence.directions.filter(pl.col("out_of_window") > 0)
    return [
        Finding(
            Severity.NOTICE,
            Confidence.MEDIUM,
            f"Packets with numbers far outside of the connection were left out: "
            f"{row['out_of_window']:,}. They were injected, or belong to another connection.",
            "Compare their TTL with that of the other packets to find where they come from.",
            **direction_of(row),
            measures=(Measure("such packets", row["out_of_window"], "", "0"),),
        )
        for row in strays.iter_rows(named=True)
    ]


RULE = Rule.of(__name__, __doc__, check, "Some packets do not fit their connection")
