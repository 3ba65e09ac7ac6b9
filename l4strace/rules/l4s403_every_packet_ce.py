"""Nearly every packet is marked CE.

What it checks
--------------
Whether at least 95 % of the data packets of a direction arrive as CE, or are reported as CE.

Why it matters
--------------
A hop that sets CE on every packet carries no information about congestion: the sender falls to its
minimum window and stays there. Whole networks have done it.

Evidence
--------
The larger of `directions.data_ce` (what this capture saw) and `ce_fed_back_best` (what the receiver
reported), of `data_packets`. With offloads (`super_packets`) the segments count that
`payload_bytes` and `ce_payload_bytes` make at `flows.mss_client` and `mss_server`. Also
`rounds.queue_delay_us` where `flows.vantage` is not the receiver's, and
`bottlenecks.serialisation_us`: on a slow link one packet takes longer than an L4S AQM's step.

When it is wrong
----------------
An AQM marks every packet too while its queue stands above its threshold: that is a notice here. A
capture at the receiver does not see that queue; the finding then has medium confidence.

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
USELESS_CE_SHARE = 0.95
"""Marked share from which marks carry no information: by eye; senders that respond to an AQM keep
it to a few percent on average."""

MIN_PACKETS = 50
"""Data packets from which a share of 95 % leaves at least two unmarked."""

READ = (
    *("data_packets", "payload_bytes", "super_packets"),
    *("data_ce", "ce_payload_bytes", "ce_fed_back_best", "first_ce_frame"),
)
"""Columns of `directions` that the rule and its finding need."""

STANDING_US = 2000.0
"""Queue delay that explains marks on every packet: twice DualPI2's step (sch_dualpi2.c, step_thresh
1 ms)."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction with hardly a packet that is not CE."""
    marked = pl.max_horizontal(
        pl.col("ce_segments").fill_null(0),
        pl.col("ce_fed_back_best").fill_null(0).cast(pl.Int64),
    )
    # Feedback also counts the handshake: 824 of 822 would be absurd.
    known = pl.min_horizontal(marked, pl.col("segments"))
    all_ce = (
        _segments(evidence)
        .filter(pl.col("segments") >= MIN_PACKETS)
        .with_columns(known.alias("marked"), (known / pl.col("segments")).alias("share"))
        .filter(pl.col("share") >= USELESS_CE_SHARE)
    )
    if all_ce.is_empty():
        return []
    ranked = all_ce.sort("share", descending=True)
    all_ce = ranked.unique(subjects.DIRECTION, keep="first", maintain_order=True)
    packets = subjects.bottlenecks(evidence).select(*subjects.DIRECTION, "serialisation_us")
    all_ce = all_ce.join(_queues(evidence), on=subjects.DIRECTION, how="left")
    all_ce = all_ce.join(packets, on=subjects.DIRECTION, how="left")
    return [_finding(row) for row in all_ce.iter_rows(named=True)]


def _segments(evidence: Evidence) -> pl.DataFrame:
    """Directions with marks: `segments` and `ce_segments` also count those of super-packets."""
    ends = evidence.flows.select("source", "flow", "mss_client", "mss_server")
    marked = pl.any_horizontal(pl.col("data_ce", "ce_payload_bytes", "ce_fed_back_best") > 0)
    directions = evidence.directions.select(*subjects.KEY, *READ).filter(marked)
    directions = directions.join(ends, on=["source", "flow"], how="left", maintain_order="left")
    # The peer's MSS option bounds a segment; options of its header make it smaller (RFC 6691).
    mss = pl.when("forward").then("mss_server").otherwise("mss_client")
    merged = (pl.col("super_packets") > 0) & (mss > 0)

    def segments(packets: str, payload: str) -> pl.Expr:
        seen, whole = pl.col(packets).cast(pl.Int64), (pl.col(payload) / mss).ceil()
        many = pl.max_horizontal(seen, whole.cast(pl.Int64))
        return pl.when(merged).then(many).otherwise(seen)

    return directions.with_columns(
        segments("data_packets", "payload_bytes").alias("segments"),
        segments("data_ce", "ce_payload_bytes").alias("ce_segments"),
    )


def _queues(evidence: Evidence) -> pl.DataFrame:
    """Median queue delay per direction, unless the capture is the receiver's and sees no queue."""
    ends = evidence.flows.select("source", "flow", "vantage")
    receiver = pl.when("forward").then(pl.lit("server")).otherwise(pl.lit("client"))
    rounds = subjects.rounds(evidence).join(ends, on=["source", "flow"], how="left")
    seen = rounds.filter((pl.col("vantage") != receiver).fill_null(True))
    return seen.group_by(subjects.DIRECTION).agg(
        pl.col("queue_delay_us").median().alias("queue_us")
    )


def _finding(row: dict[str, Any]) -> Finding:
    queue_us = row["queue_us"]
    packet_us = row["serialisation_us"] or 0.0
    standing = queue_us is not None and queue_us >= STANDING_US
    slow = standing and packet_us >= STANDING_US
    if queue_us is None:
        reason = "a hop marks every packet, or a queue stands that this capture cannot show"
    elif slow:
        reason = (
            f"one packet takes {packet_us / 1000:.1f} ms on this link, longer than the step of an "
            "L4S AQM, so every packet that waits for another is marked"
        )
    elif standing:
        reason = f"the median queue delay is {queue_us / 1000:.1f} ms, as when no sender responds"
    else:
        reason = f"a hop marks every packet, as queue delay is {queue_us / 1000:.1f} ms (median)"
    return Finding(
        CODE,
        Severity.NOTICE if standing else Severity.WARNING,
        Confidence.MEDIUM if standing or queue_us is None else Confidence.HIGH,
        f"{row['marked']:,} of {row['segments']:,} data packets are CE: {reason}.",
        _action(standing, slow),
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        frames=(row["first_ce_frame"],) if row["first_ce_frame"] is not None else (),
        measures=(Measure("marked share", min(1.0, row["share"]), "share", "a few percent"),),
    )


def _action(standing: bool, slow: bool) -> str:
    if slow:
        return "Raise the step of the AQM above the time of two packets."
    if standing:
        return "Check the sender's response and its feedback first."
    return "Find the hop that sets CE on everything; disable ECN on this path until then."


RULE = Rule(CODE, "every-packet-ce", "Nearly every packet is CE.", check, __doc__)
