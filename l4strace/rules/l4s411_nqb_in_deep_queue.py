"""A low-latency flow waits in a deep queue.

What it checks
--------------
With captures at both ends: flows with ECT(1) or DSCP 45 (NQB) whose packets wait 10 ms and more
(median). Another flow of the path, at the same time, that asks for nothing and waits as long (by a
factor of two at most) shares their queue. For ECT(1) a third must show that the path has a
low-latency queue: it asks for it, too, and waits 3 ms at most. An NQB flow without such a neighbor
builds the queue itself if its window limits most of its rounds.

Why it matters
--------------
NQB is for senders whose application sets a low rate: one that takes what the path gives fills the
shallow buffer of all others there. One that asks for that buffer and waits among classic flows has
lost its mark on the way, or the node does not read it.

Evidence
--------
`paths.owd_median_us` and `matched`; `directions.dscp`, `data_ect1`, `data_ect0`, `data_not_ect`,
`first_ns` and `last_ns` near the sender; `rounds.limited_by`.

When it is wrong
----------------
Medians are of the whole run: flows that overlap for half of it may have met other queues in the
rest. Flows of other hosts that no capture saw may fill the queue of an NQB flow.

What to do
----------
Builds a queue: send without DSCP 45. Waits among classic flows: look for the node that rewrites the
DSCP or clears ECT(1) (L4S104, L4S118), or classifies by neither.

References
----------
RFC 9956; RFC 9332
"""

import polars as pl

from l4strace.core import _native
from l4strace.derive import neighbors, one_way, overall
from l4strace.evidence import Evidence, Row, traffic
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import subjects
from l4strace.schema.keys import DIRECTION, KEY
from l4strace.schema.words import NQB
from l4strace.wording.quantities import quantity, share

DEEP_US: float = _native.DEEP_US
"""A queue that only a full buffer or a classic AQM lets stand (`measure/own.rs`)."""

SHALLOW_US: float = _native.L4S_MARK_US
"""Delay up to which marks are those of an L4S AQM (`measure/rating.rs`)."""

ALIKE = 2.0
"""Factor up to which two medians may be of one queue: by eye."""

MOSTLY = 0.5
"""Share that is most of the whole: of a flow's time in which its neighbor sends, and of the rounds
that its window limits."""

BUILDS = "An NQB flow builds a queue"
WAITS = "A low-latency flow waits in the queue of others"
ALONE = "no neighbor shows whose queue its packets wait in"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose packets wait although it asks not to."""
    if evidence.paths.is_empty():
        return [Skipped("needs captures at both ends of the path")]
    waits = _waits(evidence)
    slow = waits.filter(pl.col("nqb") | pl.col("ect1"), pl.col("us") >= DEEP_US)
    return [
        one
        for row in slow.iter_rows(named=True)
        if (one := _judged(evidence, row, _beside(waits, row))) is not None
    ]


def _waits(evidence: Evidence) -> pl.DataFrame:
    """Directions that both ends show: `nqb`, `ect1`, and the median one-way queue delay `us`."""
    known = traffic(evidence).directions.select(
        *(*KEY, "first_ns", "last_ns"),
        nqb=pl.col("dscp") == NQB,
    )
    places = (neighbors.directions(evidence), neighbors.datagrams(evidence))
    ect1 = (pl.col("marked_as") == "ect1").alias("ect1")
    named = pl.concat([place.select(*KEY, "path", "sender", ect1) for place in places]).unique(KEY)
    measured = one_way.end_to_end(evidence).filter(
        pl.col("matched") >= neighbors.MIN_STEADY_PACKETS
    )
    return (
        measured.select(*DIRECTION, source="near", us="owd_median_us")
        .drop_nulls("us")
        .join(known, on=KEY)
        .join(named, on=KEY)
        .unique(DIRECTION, keep="first", maintain_order=True)
        .sort(DIRECTION)
    )


def _beside(waits: pl.DataFrame, row: Row) -> pl.DataFrame:
    """Directions that travelled as ``row`` does, for half of its time and more."""
    begin = pl.max_horizontal("first_ns", pl.lit(row["first_ns"]))
    end = pl.min_horizontal("last_ns", pl.lit(row["last_ns"]))
    lasted = row["last_ns"] - row["first_ns"]
    # Inside one network a path has both ways.
    way = (pl.col("path") == row["path"]) & (pl.col("sender") == row["sender"])
    return waits.filter(way, pl.col("flow") != row["flow"], end - begin >= MOSTLY * lasted)


def _judged(evidence: Evidence, row: Row, beside: pl.DataFrame) -> Finding | Skipped | None:
    asks = pl.col("nqb") | pl.col("ect1")
    alike = pl.col("us").is_between(row["us"] / ALIKE, row["us"] * ALIKE)
    classic = beside.filter(~asks, alike).sort("us", "flow")
    quick = beside.filter(asks, pl.col("us") <= SHALLOW_US).sort("us", "flow")
    if classic.height and (row["nqb"] or quick.height):
        return _waiting(evidence, row, classic.row(0, named=True), quick.head(1).to_dicts())
    if not row["nqb"]:
        # L4S401 and L4S404 name the queue of an ECT(1) flow.
        return None
    limited = _limited(evidence, row)
    if limited is None or limited < MOSTLY or classic.height:
        return Skipped(ALONE, row["flow"])
    return _building(row, limited)


def _limited(evidence: Evidence, row: Row) -> float | None:
    """Share of the rounds that the window limits; null where no feedback shows it."""
    own = overall.directions(evidence).filter(**{name: row[name] for name in KEY})
    share_of: float | None = own.select(pl.col("by_window").first()).item()
    return share_of


def _waiting(evidence: Evidence, row: Row, other: Row, quick: list[Row]) -> Finding:
    asks = "DSCP 45 (NQB)" if row["nqb"] else "ECT(1)"
    us, others_us = (quantity(one["us"], "us") for one in (row, other))
    there = "".join(
        f" The path has a low-latency queue: {subjects.named(evidence, one['flow'])} waits "
        f"{quantity(one['us'], 'us')}."
        for one in quick
    )
    return Finding(
        Severity.WARNING if quick else Severity.NOTICE,
        Confidence.MEDIUM,
        f"Packets with {asks} wait {us} (median, threshold {quantity(DEEP_US, 'us')}), as those of "
        f"{subjects.named(evidence, other['flow'])} do ({others_us}): they share one queue.{there}",
        "Look for the node that rewrites the DSCP or clears ECT(1) before the queue (L4S104, "
        "L4S118), or classifies by neither.",
        **direction_of(row),
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(_measure(row), Measure("median wait of the other", other["us"], "us")),
        headline=WAITS,
        variant="waits",
    )


def _building(row: Row, limited: float) -> Finding:
    return Finding(
        Severity.WARNING,
        Confidence.MEDIUM,
        f"This NQB sender (DSCP 45) takes what the path gives: its window limits {share(limited)} "
        f"of its rounds, and its packets wait {quantity(row['us'], 'us')} (median, threshold "
        f"{quantity(DEEP_US, 'us')}).",
        "Send without DSCP 45: NQB is for senders whose application sets a low rate.",
        **direction_of(row),
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(_measure(row), Measure("rounds limited by the window", limited, "share")),
        headline=BUILDS,
        variant="builds",
    )


def _measure(row: Row) -> Measure:
    return Measure("median wait", row["us"], "us", f"below {quantity(DEEP_US, 'us')}")


RULE = Rule.of(__name__, __doc__, check, BUILDS, WAITS)
