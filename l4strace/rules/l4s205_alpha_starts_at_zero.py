"""The first CE caused no reduction.

What it checks
--------------
With a kernel log: whether alpha was near 0 at the first reduction at CE and the window hardly
changed. Without one: whether the data in flight of an ECT(1) sender went on growing as in slow
start for two rounds after the first mark.

Why it matters
--------------
With alpha at 0 the reduction, alpha/2, is nothing. Slow start goes on past the first marks and the
queue fills.

Evidence
--------
`cuts.alpha`, `fraction` and `cwnd_before` of the kernel's first row of cause CE;
`kernel.delivered_ce` (whether the log shows the first mark); `rounds.inflight_max_packets` and
`ce_best`; `flows.handshake`; `directions.data_ect1` (which sender requests L4S).

When it is wrong
----------------
Builds that start at 0 and halve the window at the first mark are correct and not reported; they too
lose the halving when the first ACK with a mark also acknowledges unmarked packets: slow start then
overwrites it (prague_update_cwnd). Logs and captures that start in the middle are left out. From
packets alone other causes of a late response look the same, hence medium confidence. Senders over
UDP have other laws and are not judged.

What to do
----------
Use a build that starts alpha at its maximum, or that halves the window at the first mark
(prague_alpha_mode=1 where it exists).

References
----------
tsvwg L4S issue 17; tcp_prague.c, prague_init; heistp/sce-l4s-bakeoff README, update of 2019-11-11
"""

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import datagrams, subjects
from l4strace.schema.keys import of_round

ACTION = "Use a build that starts alpha at its maximum or halves the window at the first mark."
NEAR_ZERO = 0.01
"""Alpha at the first mark is 0 or 1 in the published builds (prague_init); by eye, near 0."""

NO_CUT = 0.1
"""Reduction between alpha/2 of such an alpha (0.5 %) and a halving: by eye."""

LATE_ROUNDS = 2
"""The window follows its target by one packet per ACK (prague_update_cwnd): a reduction takes the
round after the feedback."""

NO_REDUCTION_GROWTH = 1.2
"""Growth of the data in flight over those rounds that is no reduction: by eye; a full reduction
halves it, additive increase adds one packet per round."""

DOUBLING = 2.0
"""Growth over the two rounds before the first mark that shows slow start, which makes 4."""

MIN_WINDOW = 16
"""Packets in flight from which such growth is not that of single packets: by eye."""

KERNEL_WINDOW = 8
"""Smallest window where the kernel recorded it, in packets: half of it is four packets. By eye."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose first mark was followed by no reduction."""
    kernel = _from_kernel(evidence)
    logged = {(row["flow"], row["forward"]) for row in kernel}
    results: list[Finding | Skipped] = [
        _kernel_finding(evidence, row)
        for row in kernel
        if row["alpha"] is not None
        and row["alpha"] < NEAR_ZERO
        and row["fraction"] < NO_CUT
        and row["cwnd_before"] >= KERNEL_WINDOW
    ]
    for row in _from_packets(evidence).iter_rows(named=True):
        if (row["flow"], row["forward"]) not in logged:
            results.append(_packet_finding(row))
    return results + datagrams.unknown_law(evidence)


def _from_kernel(evidence: Evidence) -> list[dict[str, Any]]:
    cuts = evidence.cuts.filter((pl.col("origin") == "kernel") & (pl.col("cause") == "ce"))
    if cuts.is_empty():
        return []
    first = cuts.sort("ts_ns").unique(subjects.DIRECTION, keep="first", maintain_order=True)
    seen = evidence.kernel.group_by(subjects.DIRECTION).agg(pl.col("delivered_ce").min())
    late = seen.filter(pl.col("delivered_ce") > 1)
    whole = first.join(late, on=subjects.DIRECTION, how="anti", maintain_order="left")
    return list(whole.iter_rows(named=True))


def _from_packets(evidence: Evidence) -> pl.DataFrame:
    """Directions of ECT(1) senders whose data in flight grew on past their first marks."""
    needed = evidence.rounds.select(
        *subjects.KEY,
        *("round", "start_ns", "end_ns", "first_frame", "last_frame"),
        *("inflight_max_packets", "ce_best"),
    )
    flight = pl.col("inflight_max_packets")
    # The first mark counts: where no marked round has the window, that has not, either.
    marked = needed.filter((pl.col("ce_best") > 0) & (flight >= MIN_WINDOW))
    if marked.is_empty():
        return marked
    begun = evidence.flows.filter(pl.col("handshake") != "none").select("source", "flow")
    senders = subjects.scalable(evidence).join(begun, on=["source", "flow"], how="semi")
    marked = marked.select(subjects.KEY).unique().join(senders, on=subjects.KEY, how="semi")
    rounds = needed.join(marked, on=subjects.KEY, how="semi")
    later = rounds.sort(*subjects.KEY, "round").with_columns(
        of_round(+LATE_ROUNDS, flight).alias("later"),
        of_round(-LATE_ROUNDS, flight).alias("earlier"),
    )
    first = later.filter(pl.col("ce_best") > 0).unique(
        subjects.KEY, keep="first", maintain_order=True
    )
    return first.filter(
        (pl.col("later") >= NO_REDUCTION_GROWTH * flight)
        & (flight >= MIN_WINDOW)
        & (flight >= DOUBLING * pl.col("earlier"))
    )


def _kernel_finding(evidence: Evidence, row: dict[str, Any]) -> Finding:
    return Finding(
        Severity.WARNING,
        Confidence.HIGH,
        f"Alpha was {row['alpha']:.3f} at the first CE in the log, so the window of "
        f"{row['cwnd_before']:,.0f} packets {_shrank(row['fraction'])}.",
        ACTION,
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["ts_ns"], row["ts_ns"]),
        **subjects.at(evidence, row["flow"], row["forward"], row["ts_ns"]),
        measures=(
            Measure("alpha at the first CE", row["alpha"], "", "1, or a halved window"),
            Measure("first reduction", row["fraction"], "share", "50 %"),
        ),
    )


def _shrank(fraction: float) -> str:
    percent = f"{100 * fraction:.1f}"
    return "did not shrink" if percent == "0.0" else f"shrank by only {percent} %"


def _packet_finding(row: dict[str, Any]) -> Finding:
    return Finding(
        Severity.WARNING,
        Confidence.MEDIUM,
        f"The first CE caused no reduction: {row['inflight_max_packets']:,} packets were in flight "
        f"in its round and {row['later']:,} two rounds later, as with an alpha that starts at 0.",
        ACTION,
        **direction_of(row),
        span_ns=(row["start_ns"], row["end_ns"]),
        frames=tuple(f for f in (row["first_frame"], row["last_frame"]) if f is not None),
        measures=(
            Measure("in flight at the first CE", row["inflight_max_packets"], "packet"),
            Measure("in flight two rounds later", row["later"], "packet", "about half"),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "The first CE caused no reduction")
