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
A step AQM marks everything too while a queue stands above its step: that is said as a notice.

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
from l4strace.rules.support import subjects

CODE = "L4S403"
SHARE = 0.95
MIN_PACKETS = 50
STANDING_US = 2000.0
"""Queue delay that explains marks on everything: twice DualPI2's step, CoDel's after a while."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction with next to no packet that is not CE."""
    marked = pl.max_horizontal(
        pl.col("data_ce").fill_null(0).cast(pl.Int64),
        pl.col("ce_fed_back_best").fill_null(0).cast(pl.Int64),
    )
    # Feedback also counts the handshake: never say 824 of 822.
    known = pl.min_horizontal(marked, pl.col("data_packets").cast(pl.Int64))
    all_ce = (
        evidence.directions.filter(pl.col("data_packets") >= MIN_PACKETS)
        .with_columns(known.alias("marked"), (known / pl.col("data_packets")).alias("share"))
        .filter(pl.col("share") >= SHARE)
        .sort("share", descending=True)
        .unique(subjects.DIRECTION, keep="first", maintain_order=True)
    )
    if all_ce.is_empty():
        return []
    all_ce = all_ce.join(_queues(evidence), on=subjects.DIRECTION, how="left")
    return [_finding(row) for row in all_ce.iter_rows(named=True)]


def _queues(evidence: Evidence) -> pl.DataFrame:
    rounds = subjects.rounds(evidence)
    return rounds.group_by(subjects.DIRECTION).agg(
        pl.col("queue_delay_us").median().alias("queue_us")
    )


def _finding(row: dict[str, Any]) -> Finding:
    standing = (row["queue_us"] or 0.0) >= STANDING_US
    reason = (
        f"the queue stands at {row['queue_us'] / 1000:.1f} ms, as if nobody answered the marks"
        if standing
        else "some hop marks all"
    )
    return Finding(
        CODE,
        Severity.NOTICE if standing else Severity.WARNING,
        Confidence.MEDIUM if standing else Confidence.HIGH,
        f"{row['marked']:,} of {row['data_packets']:,} data packets are CE: {reason}.",
        "Look at the sender's response and its feedback first."
        if standing
        else "Find the hop that sets CE on everything; disable ECN on this path until then.",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        frames=(row["first_ce_frame"],) if row["first_ce_frame"] is not None else (),
        measures=(Measure("marked share", min(1.0, row["share"]), "share", "a few percent"),),
    )


RULE = Rule(CODE, "every-packet-ce", "Every packet is CE.", check, __doc__)
