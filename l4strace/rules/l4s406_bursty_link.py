"""A link holds packets and releases them in bursts.

What it checks
--------------
Whether packets arrive four times as fast as the path carries them while their RTTs spread over
milliseconds, or one ACK covers four packets and more, milliseconds after the one before: they were
held and released together.

Why it matters
--------------
A link that sends in slots or aggregates (Wi-Fi, LTE, DOCSIS) makes every packet wait for the next
release. That wait is not queue, but Prague's classic-ECN detector counts it as RTT deviation.

Evidence
--------
`noise.release_us`, `common_us`, `added_by` and `path`.

When it is wrong
----------------
ACKs that a host or a link aggregates look the same from the sender's end. Behind a classic AQM, and
on slow links, the bursts count as jitter (L4S405).

What to do
----------
Capture at both ends to see which path holds packets. Judge a fallback on this path by L4S303.

References
----------
RFC 9331 section 4.3; IEEE 802.11 A-MPDU; tcp_prague.c, V0_LG (750 us)
"""

from collections.abc import Iterator

import polars as pl

from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.l4s405_path_jitter import BELOW
from l4strace.rules.support import subjects

ADDED_BY = {
    "forward": " on the path of the data",
    "ack": " on the path of the ACKs",
    "both": " that data and ACKs pass",
}


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each path, at the flow with most rounds."""
    bursty = subjects.noise(evidence).filter(pl.col("release_us").is_not_null())
    return [_finding(row) for row in subjects.of_each_path(bursty).iter_rows(named=True)]


def _finding(row: Row) -> Finding:
    where = ADDED_BY.get(row["added_by"] or "", "")
    return Finding(
        Severity.NOTICE,
        Confidence.MEDIUM,
        f"A link{where} releases packets in bursts, about every {row['release_us'] / 1000:.1f} ms: "
        "packets wait that long without a queue.",
        "Capture at both ends to see which path holds packets.",
        **direction_of(row),
        measures=tuple(_measures(row)),
    )


def _measures(row: Row) -> Iterator[Measure]:
    """Packets that one ACK reports together show no jitter."""
    yield Measure("release period", row["release_us"], "us")
    if row["common_us"] is not None:
        yield Measure("jitter within a round trip", row["common_us"], "us", BELOW)


RULE = Rule.of(__name__, __doc__, check, "A link releases packets in bursts")
