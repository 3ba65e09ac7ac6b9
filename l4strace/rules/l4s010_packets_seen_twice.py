"""The capture contains packets twice.

What it checks
--------------
Whether the capture shows the same packets more than once: on two interfaces of one host or router,
or before and after segmentation offload.

Why it matters
--------------
l4strace counts such packets once. The copy shows the same packet at another place of the host's
stack, so the time between the two is not a delay of the network. Other tools report the copies as
retransmissions and duplicate ACKs.

Evidence
--------
`directions.duplicates` and `retransmits`; `sources.path` names the input.

When it is wrong
----------------
A packet that is retransmitted within half a round trip looks the same: under heavy loss, when the
queue has become shorter than it was. So copies count only where they outnumber retransmissions.

What to do
----------
Capture on one interface (`-i eth0` instead of `-i any`), the one that the bottleneck follows.

References
----------
https://www.wireshark.org/docs/man-pages/editcap.html (option -d)
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.wording.quantities import count

CODE = "L4S010"
MIN_COPY_SHARE = 0.01
MIN_COPIES = 10
"""Share and number of copies from which the capture point is ambiguous: a network may double single
packets. By eye."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each input."""
    copies = (
        evidence.directions.group_by("source")
        .agg(pl.col("duplicates", "packets").sum(), pl.col("retransmits").fill_null(0).sum())
        .filter(
            (pl.col("duplicates") >= MIN_COPIES)
            & (pl.col("duplicates") >= MIN_COPY_SHARE * pl.col("packets"))
            & (pl.col("duplicates") > pl.col("retransmits"))
        )
        .sort("source")
    )
    paths = dict(evidence.sources.select("source", "path").iter_rows())
    return [
        Finding(
            CODE,
            Severity.NOTICE,
            Confidence.HIGH,
            f"{paths.get(row['source'], 'An input')} contains packets twice: {row['duplicates']:,} "
            f"copies of {count(row['packets'], 'packet')}. Each packet counts once.",
            "Capture on one interface, the one that the bottleneck follows.",
            source=row["source"],
            measures=(
                Measure("copies", row["duplicates"], "", "0"),
                Measure("packets", row["packets"]),
            ),
        )
        for row in copies.iter_rows(named=True)
    ]


RULE = Rule(CODE, "packets-seen-twice", "The capture contains packets twice.", check, __doc__)
