"""The path adds jitter that no queue causes.

What it checks
--------------
How far the RTTs of one round trip lie apart while the queue hardly moves, without the time of two
packets, for every flow of a path: from 1 ms and the time of one packet of each other flow on. Where
packets arrive four times as fast as the path carries them, one flow is enough: no queue lets them
out like that.

Why it matters
--------------
Jitter looks like queue. It hides at which delay an AQM marks, and Prague's classic-ECN detector
takes an RTT deviation above 0.75 ms for a classic queue: the fallback then backs off like a classic
flow behind an L4S AQM.

Evidence
--------
`noise.common_us`, `jitter_us`, `train_times`, `hides_us`, `release_us` (see L4S406), `added_by` and
`path`; `bottlenecks.serialisation_us`: packets of other flows come between those of one.

When it is wrong
----------------
A host that answers late (busy receiver, delayed ACKs) looks the same from one end. On a slow link
(below about 8 Mbit/s) the time of packets hides jitter of some milliseconds.

What to do
----------
Capture at both ends to see which path adds it. Look for radio links, busy hosts and shapers that
release packets in batches. Judge a fallback on this path by L4S303.

References
----------
RFC 3393 (delay variation); tcp_prague.c, V0_LG (750 us); RFC 9331 section 4.3
"""

import polars as pl

from l4strace.derive.noise import TRAIN_TIMES
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import clocks, subjects
from l4strace.wording.quantities import quantity

MIN_US = 1000.0
"""Jitter that is noted: DualPI2's step (sch_dualpi2.c). Measured without jitter: at most 0.8 ms."""
BELOW = f"below {quantity(MIN_US, 'us')}"
"""What is expected of a path."""

ADDED_BY = {
    "forward": ("the data direction adds it", "Look in the data direction"),
    "ack": ("the ACK direction adds it", "Look in the ACK direction"),
    "both": ("both directions add it", "Look in both directions"),
}


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each path, at the flow with most rounds."""
    packet = subjects.bottlenecks(evidence).select(*subjects.DIRECTION, "serialisation_us")
    noise = subjects.noise(evidence).join(packet, on=subjects.DIRECTION, how="left")
    packet_us = pl.col("serialisation_us").max().over("source", "path")
    # A scheduler lets a packet of each other flow pass before the next one of a flow.
    others = pl.col("jitter_us").count().over("source", "path").cast(pl.Int64) - 1
    common, held = pl.col("common_us"), pl.col("jitter_us")
    above = pl.max_horizontal(pl.lit(MIN_US), packet_us)
    shown = (
        pl.when(common >= pl.max_horizontal(above, others * packet_us))
        .then(common)
        .when((pl.col("train_times") >= TRAIN_TIMES) & (held >= above))
        .then(held)
    )
    noisy = noise.with_columns(shown_us=shown).filter(
        pl.col("release_us").is_null(), pl.col("shown_us").is_not_null()
    )
    found = [_finding(row) for row in subjects.of_each_path(noisy).iter_rows(named=True)]
    return clocks.measurable(evidence, found)


def _finding(row: Row) -> Finding:
    known = ADDED_BY.get(row["added_by"] or "")
    by = known[0] if known else "one capture cannot show which direction adds it"
    adds = known[1] if known else "Capture at both ends to see which direction adds it; look"
    jitter = row["shown_us"] / 1000
    return Finding(
        Severity.NOTICE,
        Confidence.MEDIUM,
        f"The path has {jitter:.1f} ms of jitter (threshold {quantity(MIN_US, 'us')}) that no "
        f"queue causes: {by}.",
        f"{adds} for radio links and busy hosts.",
        **direction_of(row),
        measures=(
            Measure("jitter within a round trip", row["shown_us"], "us", BELOW),
            Measure("delay that it can add", row["hides_us"], "us"),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "The path adds jitter that no queue causes")
