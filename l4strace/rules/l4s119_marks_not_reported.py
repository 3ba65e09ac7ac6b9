"""The receiver of a flow over UDP got marks and reports none.

What it checks
--------------
CE packets in a capture at the receiver of a flow over UDP, against feedback in clear that reports
its packets as arrived and none as marked.

Why it matters
--------------
The sender never learns of the queue: it sends ECT(1) and does not slow down. It fills the
low-latency queue until packets are lost, and takes the share of flows that do respond.

Evidence
--------
`directions.ce`, `data_packets`, `reported_packets` and `ce_fed_back_best`; `flows.vantage` shows
that the capture is at the receiver, `flows.transport` that it is not TCP.

When it is wrong
----------------
Packets of which no report was read may be those with the marks: the capture cut the report off, or
ended before it. Only marks beyond the number of these packets count.

What to do
----------
Let the receiver's socket hand over the ECN field: IP_RECVTOS and IPV6_RECVTCLASS, both of them
where an IPv6 socket receives IPv4; read one byte where the system gives one.

References
----------
RFC 8888 section 3.1, RFC 9331 section 4.2, ip(7)
"""

import polars as pl

from l4strace.evidence import Evidence, Row, traffic
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.schema.vantage import receiver
from l4strace.schema.words import TRANSPORTS
from l4strace.wording.quantities import count

MIN_MARKS = 3
"""Marks on packets that are reported: one or two may be those of copies. By eye."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction over UDP captured at its receiver."""
    known = traffic(evidence)
    flows = known.flows.select("source", "flow", "vantage", "transport")
    counted = known.directions.filter(pl.col("reported_packets") > 0).select(
        *("source", "flow", "forward", "first_ns", "last_ns", "first_ce_frame"),
        *("ce", "data_packets", "reported_packets", "ce_fed_back_best"),
    )
    reported = counted.join(flows, on=["source", "flow"], maintain_order="left")
    unread = pl.col("data_packets").cast(pl.Int64) - pl.col("reported_packets").cast(pl.Int64)
    rows = reported.filter(
        pl.col("transport") != "tcp",
        pl.col("vantage") == receiver(),
        pl.col("ce").cast(pl.Int64) - unread.clip(lower_bound=0) >= MIN_MARKS,
        pl.col("ce_fed_back_best") == 0,
    )
    return [_finding(row) for row in rows.iter_rows(named=True)]


def _finding(row: Row) -> Finding:
    marks, packets = count(row["ce"], "packet"), count(row["reported_packets"], "packet")
    return Finding(
        Severity.WARNING,
        Confidence.HIGH,
        f"{marks} arrived with CE (threshold {MIN_MARKS}), and the receiver's feedback, which "
        f"reports {packets} of this {TRANSPORTS[row['transport']]} flow, reports no mark.",
        "Let the receiver's socket hand over the ECN field (IP_RECVTOS, IPV6_RECVTCLASS).",
        **direction_of(row),
        span_ns=(row["first_ns"], row["last_ns"]),
        frames=(row["first_ce_frame"],),
        measures=(
            Measure("CE packets arrived", row["ce"], "", f"below {MIN_MARKS}"),
            Measure("CE packets reported", 0, "", f"{row['ce']:,}"),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "The receiver got marks and reports none", over_udp=True)
