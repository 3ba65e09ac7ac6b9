"""A low-latency sender sends bursts longer than 250 us.

What it checks
--------------
The median back-to-back burst of a sender that asks for the low-latency queue, by ECT(1) or by DSCP
45 (NQB), as time at the rate of its path, against 250 us.

Why it matters
--------------
An L4S AQM marks at a queue delay of a millisecond or less. A burst is queue: senders that do not
pace cause marks on their own packets and lose throughput.

Evidence
--------
`rounds.burst_bytes` and `burst_frame`; `bottlenecks.rate_bps`; `directions.max_payload`,
`super_packets`, `data_ect1`, `dscp`, `clock_steps` and `clock_ahead_ns`.

When it is wrong
----------------
Captured above segmentation offload, one packet stands for many (L4S003): the burst is then what the
card sends. Four packets are always allowed. A network may have set the DSCP between the sender and
the capture.

What to do
----------
Use fq below the sender or its internal pacing; check prague_burst_shift and tcp_min_tso_segs.

References
----------
RFC 9331 section 4.3 (limit bursts); RFC 9956 (NQB); tcp_prague.c, prague_burst_shift 12 = 244 us
"""

import polars as pl

from l4strace.derive import overall
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import clocks, datagrams, subjects
from l4strace.schema.words import NQB
from l4strace.wording.quantities import quantity

OF_NQB = "An NQB sender sends long bursts"
LIMIT_US = 250.0
"""About what Prague itself allows (tcp_prague.c, prague_burst_shift 12: 1/4096 s)."""

ALLOWED_PACKETS = 4
"""Two packets leave at once for each delayed ACK, and a pacing timer may release two such."""

MIN_ROUNDS = 20
"""Rounds from which the median stands for the flow: by eye, as in the derived tables."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction with ECT(1) or DSCP 45 whose median burst is too long."""
    rated = subjects.once(evidence, evidence.bottlenecks).filter(pl.col("rate_bps") > 0)
    sizes = evidence.directions.select(*subjects.KEY, "max_payload", "super_packets", "dscp")
    rated = rated.join(sizes, on=subjects.KEY, how="left").join(
        subjects.scalable(evidence).with_columns(ect1=True), on=subjects.KEY, how="left"
    )
    rated = rated.filter(pl.col("ect1") | (pl.col("dscp") == NQB))
    if rated.is_empty():
        why = "no direction with ECT(1) or DSCP 45 and enough data to estimate its rate"
        return datagrams.lacking(datagrams.ect1(evidence), why)
    long = (
        rated.join(overall.directions(evidence), on=subjects.KEY)
        .with_columns((pl.col("burst_bytes") * 8e6 / pl.col("rate_bps")).alias("burst_us"))
        .filter(
            (pl.col("bursts") >= MIN_ROUNDS)
            & (pl.col("burst_us") > LIMIT_US)
            & (pl.col("burst_bytes") > ALLOWED_PACKETS * pl.col("max_payload"))
        )
    )
    spoiled = clocks.spoiled(evidence)
    return [
        Skipped(clocks.REASON, row["flow"]) if row["source"] in spoiled else _finding(row)
        for row in long.iter_rows(named=True)
    ]


def _finding(row: Row) -> Finding:
    offloaded = (row["super_packets"] or 0) > 0
    note = " Offloads hide what the network card really sends." if offloaded else ""
    return Finding(
        Severity.NOTICE,
        Confidence.LOW if offloaded else Confidence.MEDIUM,
        f"The median burst of this {'L4S' if row['ect1'] else 'NQB'} sender lasts "
        f"{quantity(row['burst_us'], 'us')} at the rate of its path (threshold "
        f"{LIMIT_US:.0f} us).{note}",
        "Use fq or internal pacing; check prague_burst_shift and tcp_min_tso_segs.",
        **direction_of(row),
        headline="" if row["ect1"] else OF_NQB,
        frames=(row["burst_frame"],),
        measures=(
            Measure("median burst", int(row["burst_bytes"]), "byte"),
            Measure("median burst as time", row["burst_us"], "us", f"at most {LIMIT_US:.0f} us"),
            Measure("longest burst", row["burst_max_bytes"], "byte"),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "An L4S sender sends long bursts", OF_NQB)
