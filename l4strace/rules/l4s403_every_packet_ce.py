"""Every packet is marked CE.

What it checks
--------------
Whether nearly all packets of a direction arrive, or are reported, as CE.

Why it matters
--------------
A hop that sets CE on everything carries no information about congestion: the sender falls to its
minimum window and stays there. Whole networks have done it.

Evidence
--------
`directions.data_ce` where the capture stands behind the marker, else `ce_fed_back_best`.

When it is wrong
----------------
A step AQM far below the flow's minimum window marks everything too; then the queue delay is high.

What to do
----------
Find the hop (traceroute with ECN, captures on both sides) and have it fixed; disable ECN meanwhile.

References
----------
RFC 3168 section 5; Apple developer forum thread 145130
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped

CODE = "L4S403"
SHARE = 0.95
MIN_PACKETS = 50


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction with next to no packet that is not CE."""
    marked = pl.max_horizontal(
        pl.col("data_ce").fill_null(0).cast(pl.Int64),
        pl.col("ce_fed_back_best").fill_null(0).cast(pl.Int64),
    )
    all_ce = (
        evidence.directions.filter(pl.col("data_packets") >= MIN_PACKETS)
        .with_columns(marked.alias("marked"), (marked / pl.col("data_packets")).alias("share"))
        .filter(pl.col("share") >= SHARE)
    )
    return [_finding(row) for row in all_ce.iter_rows(named=True)]


def _finding(row: dict[str, Any]) -> Finding:
    return Finding(
        CODE,
        Severity.WARNING,
        Confidence.HIGH,
        f"{row['marked']:,} of {row['data_packets']:,} data packets are CE: some hop marks all.",
        "Find the hop that sets CE on everything; disable ECN on this path until then.",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        frames=(row["first_ce_frame"],) if row["first_ce_frame"] is not None else (),
        measures=(Measure("marked share", min(1.0, row["share"]), "share", "a few percent"),),
    )


RULE = Rule(CODE, "every-packet-ce", "Every packet is CE.", check, __doc__)
