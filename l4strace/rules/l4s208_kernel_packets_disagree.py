"""The kernel's counters and the packets disagree.

What it checks
--------------
The CE marks that the kernel counted (delivered_ce) against the bounds that the feedback on the wire
allows, and the kernel's snd_cwnd against the packets in flight in rounds that the window limited.

Why it matters
--------------
If the two disagree, the log belongs to another flow, or the capture lost packets, or the kernel
misreads its feedback: the last is a bug that no other check finds.

Evidence
--------
`kernel.delivered_ce` and `snd_cwnd`; `directions.ce_fed_back_lo` and `ce_fed_back_hi`;
`rounds.cwnd_packets` and `limited_by`.

When it is wrong
----------------
If the log ends before the flow, or the capture begins after it: delivered_ce counts from the start
of the socket, and the whole capture is compared with its largest value.

What to do
----------
Check the join of log and capture (L4S009) and capture drops (L4S002) first.

References
----------
RFC 9768 section 3.2.2.5 (safety against ACE ambiguity)
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects

CODE = "L4S208"
TOLERANCE, TOLERATED = 0.05, 8
"""Marks of the last round trip may be missing on either side: 5 % by eye, and at least one turn of
the 3-bit counter (RFC 9768 section 3.2.2)."""

MIN_ROUNDS = 50
"""Rounds from which the median difference is judged: by eye."""

FRESH_NS = 100_000_000
"""Age up to which a sample stands for a round: by eye, some round trips."""

CWND_ERROR = 0.25
"""Median relative difference: by eye, five times the error of the estimate in steady rounds."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction and disagreement."""
    joined = evidence.kernel.filter(pl.col("flow").is_not_null())
    if joined.is_empty() or evidence.rounds.is_empty():
        return [Skipped(CODE, "no kernel log joined with a capture")]
    marks = (_ce_finding(row) for row in _ce(evidence, joined).iter_rows(named=True))
    windows = (_cwnd_finding(row) for row in _cwnd(evidence, joined).iter_rows(named=True))
    return [*marks, *windows]


def _ce(evidence: Evidence, joined: pl.DataFrame) -> pl.DataFrame:
    counted = joined.group_by(subjects.DIRECTION).agg(pl.col("delivered_ce").max())
    fed = subjects.once(evidence, evidence.directions).filter(
        pl.col("ce_fed_back_lo").is_not_null()
    )
    ce = pl.col("delivered_ce").cast(pl.Int64)
    slack = (ce * TOLERANCE).clip(lower_bound=TOLERATED)
    low, high = (pl.col(f"ce_fed_back_{b}").cast(pl.Int64) for b in ("lo", "hi"))
    return (
        counted.drop_nulls()
        .join(fed, on=subjects.DIRECTION)
        .filter((ce + slack < low) | (ce - slack > high))
    )


def _cwnd(evidence: Evidence, joined: pl.DataFrame) -> pl.DataFrame:
    """Median relative difference of the estimated window to the kernel's at the end of rounds."""
    windows = joined.filter(pl.col("snd_cwnd") > 0).select(*subjects.DIRECTION, "ts_ns", "snd_cwnd")
    rounds = subjects.rounds(evidence).filter(
        pl.col("cwnd_packets").is_not_null() & (pl.col("limited_by") == "cwnd")
    )
    paired = rounds.sort("end_ns").join_asof(
        windows.sort("ts_ns"),
        left_on="end_ns",
        right_on="ts_ns",
        by=list(subjects.DIRECTION),
        check_sortedness=False,
        tolerance=FRESH_NS,
    )
    error = (pl.col("cwnd_packets") - pl.col("snd_cwnd")).abs() / pl.col("snd_cwnd")
    return (
        paired.drop_nulls("snd_cwnd")
        .group_by(subjects.KEY)
        .agg(
            pl.len().alias("rounds"),
            error.median().alias("error"),
            pl.col("cwnd_packets").median(),
            pl.col("snd_cwnd").median(),
        )
        .filter((pl.col("rounds") >= MIN_ROUNDS) & (pl.col("error") > CWND_ERROR))
    )


def _ce_finding(row: dict[str, Any]) -> Finding:
    low, high = row["ce_fed_back_lo"], row["ce_fed_back_hi"]
    bounds = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return Finding(
        CODE,
        Severity.NOTICE,
        Confidence.MEDIUM,
        f"Kernel and packets disagree on CE: delivered_ce is {row['delivered_ce']:,}, but the "
        f"feedback on the wire allows {bounds}.",
        "Check the join of log and capture (L4S009) and capture drops (L4S002) first.",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        measures=(Measure("delivered_ce", row["delivered_ce"], "packet", bounds),),
    )


def _cwnd_finding(row: dict[str, Any]) -> Finding:
    return Finding(
        CODE,
        Severity.NOTICE,
        Confidence.LOW,
        f"Kernel and packets disagree on the window: the median of snd_cwnd is "
        f"{row['snd_cwnd']:,.0f} packets, that of the packets in flight "
        f"{row['cwnd_packets']:,.0f}.",
        "Check the join of log and capture (L4S009), and what else limits the sender.",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        measures=(
            Measure(
                "median difference", row["error"], "share", f"at most {100 * CWND_ERROR:.0f} %"
            ),
        ),
    )


RULE = Rule(CODE, "kernel-packets-disagree", "Kernel and packets disagree.", check, __doc__)
