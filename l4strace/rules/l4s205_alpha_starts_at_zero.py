"""Prague's first CE caused no cut, because alpha began at 0.

What it checks
--------------
The first reduction at CE: whether alpha was next to 0 and the window was not cut. Without a kernel
log: whether the flight went on growing for rounds after the first mark.

Why it matters
--------------
With alpha at 0 the reduction alpha/2 is nothing. Slow start goes on doubling past the first marks
and the queue fills for seconds.

Evidence
--------
The first row of `cuts` of cause `ce`; `kernel.alpha`; `rounds`.

When it is wrong
----------------
Builds P4 and P7 also begin at 0 but halve the window at the first mark: no fault, and not reported.
From packets alone other causes of late response look the same, hence medium confidence.

What to do
----------
Use a build that starts alpha at its maximum, or that halves at the first mark
(prague_alpha_mode=1 where it exists).

References
----------
tsvwg L4S issue 17; tcp_prague.c, prague_init; sce-l4s-bakeoff README, update of 2019-11-11
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects
from l4strace.schema.keys import of_round

CODE = "L4S205"
ACTION = "Use a build that starts alpha at its maximum or halves the window at the first mark."
NEXT_TO_ZERO = 0.01
NO_CUT = 0.1
LATE_ROUNDS = 2
GREW = 1.2
"""Growth of the flight over the two rounds after the first mark; a full cut would halve it, and
additive increase adds one packet a round."""

DOUBLING = 2.0
"""Growth over the two rounds before the first mark: slow start, where each would double."""

MIN_WINDOW = 16


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose first mark was followed by no cut."""
    kernel = _from_kernel(evidence)
    logged = {(row["flow"], row["forward"]) for row in kernel}
    said: list[Finding | Skipped] = [
        _kernel_finding(evidence, row)
        for row in kernel
        if row["alpha"] is not None and row["alpha"] < NEXT_TO_ZERO and row["fraction"] < NO_CUT
    ]
    for row in _from_packets(evidence).iter_rows(named=True):
        if (row["flow"], row["forward"]) not in logged:
            said.append(_packet_finding(row))
    return said


def _from_kernel(evidence: Evidence) -> list[dict[str, Any]]:
    cuts = evidence.cuts.filter((pl.col("origin") == "kernel") & (pl.col("cause") == "ce"))
    first = cuts.sort("ts_ns").unique(subjects.DIRECTION, keep="first", maintain_order=True)
    return list(first.iter_rows(named=True))


def _from_packets(evidence: Evidence) -> pl.DataFrame:
    """Directions of ECT(1) senders whose flight grew on past the first marks of their life."""
    needed = evidence.rounds.select(
        *subjects.KEY,
        *("round", "start_ns", "end_ns", "first_frame", "last_frame"),
        *("inflight_max_packets", "ce_best"),
    )
    rounds = needed.join(subjects.scalable(evidence), on=subjects.KEY, how="semi")
    flight = pl.col("inflight_max_packets")
    later = rounds.sort(*subjects.KEY, "round").with_columns(
        of_round(+LATE_ROUNDS, flight).alias("later"),
        of_round(-LATE_ROUNDS, flight).alias("earlier"),
    )
    first = later.filter(pl.col("ce_best") > 0).unique(
        subjects.KEY, keep="first", maintain_order=True
    )
    return first.filter(
        (pl.col("later") >= GREW * flight)
        & (flight >= MIN_WINDOW)
        & (flight >= DOUBLING * pl.col("earlier"))
    )


def _kernel_finding(evidence: Evidence, row: dict[str, Any]) -> Finding:
    return Finding(
        CODE,
        Severity.WARNING,
        Confidence.HIGH,
        f"Alpha started at 0: the first CE cut the window of {row['cwnd_before']:.0f} packets by "
        f"{100 * row['fraction']:.0f} %, so slow start went on past it.",
        ACTION,
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["ts_ns"], row["ts_ns"]),
        **subjects.at(evidence, row, row["ts_ns"]),
        measures=(
            Measure("alpha at the first CE", row["alpha"], "", "1, or a halving"),
            Measure("first cut", row["fraction"], "share", "half"),
        ),
    )


def _packet_finding(row: dict[str, Any]) -> Finding:
    return Finding(
        CODE,
        Severity.WARNING,
        Confidence.MEDIUM,
        f"First CE without a cut: {row['inflight_max_packets']:,} packets were in flight then and "
        f"{row['later']:,} two rounds later, as with an alpha that starts at 0.",
        ACTION,
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["start_ns"], row["end_ns"]),
        frames=tuple(f for f in (row["first_frame"], row["last_frame"]) if f is not None),
        measures=(
            Measure("in flight at the first CE", row["inflight_max_packets"], "packet"),
            Measure("two rounds later", row["later"], "packet", "about half"),
        ),
    )


RULE = Rule(CODE, "alpha-starts-at-zero", "The first CE cut nothing.", check, __doc__)
