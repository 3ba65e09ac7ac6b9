"""The queue is well above the target of its AQM.

What it checks
--------------
The median queue delay of a direction, in its steady rounds and of all of its packets, against twice
the target of its kind of bottleneck plus the time of two packets. The target is 1 ms for ECT(1)
through an L4S AQM or a shallow AQM, 15 ms for a classic one and for other packets. A queue without
marks has a threshold of 100 ms.

Why it matters
--------------
Low delay is the purpose of L4S. A standing queue means a sender that does not respond, an AQM with
a high target, or a second queue in front of it.

Evidence
--------
`bottlenecks.kind`, `queue_delay_us`, `serialisation_us` and `noise_us` (jitter);
`paths.owd_median_us` where two captures show the one-way delay, else the queue delay of `rounds`,
each with its packets; `directions.data_ect1` (which queue of a dual-queue AQM applies).

When it is wrong
----------------
With jitter (Wi-Fi) the RTT above its minimum is not all queue; the threshold rises by what the
jitter shows, which on a slow link is little.

What to do
----------
Check the AQM's target and whether another hop queues; find flows that ignore their marks.

References
----------
sch_dualpi2.c (step 1 ms, target 15 ms); RFC 8033 (PIE: 15 ms); RFC 8289 (CoDel: 5 ms)
"""

import polars as pl

from l4strace.derive import neighbors, one_way, queue_delay
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import clocks, subjects
from l4strace.schema.words import CLASSIC_OR_PER_FLOW, NEVER_MARK
from l4strace.wording.measures import OF_PACKETS, OF_ROUNDS, ONE_WAY
from l4strace.wording.quantities import listed, milliseconds

FAR_ABOVE = "The queue is far above its target"
STANDS = "The queue does not drain"
TARGET_US = {
    **dict.fromkeys(("l4s", "shallow"), 1_000.0),
    **dict.fromkeys(("classic", "per-flow", CLASSIC_OR_PER_FLOW), 15_000.0),
}
"""Targets of DualPI2 (sch_dualpi2.c: step_thresh, target) and PIE (RFC 8033); CoDel's is lower."""

UNMARKED_US = 100_000.0
"""A FIFO has no target: by eye, below the 150 ms from mouth to ear of ITU-T G.114."""

TIMES_TARGET, PACKETS = 2.0, 2.0
"""Twice the target, plus the time of two packets on a slow link: by eye; an AQM keeps its target on
average, and one packet is being sent while another arrives."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each queue whose median delay exceeds its target, at the flow that waits."""
    judged = subjects.once(evidence, evidence.bottlenecks).filter(pl.col("kind") != "unknown")
    if judged.is_empty():
        return [Skipped("no bottleneck could be determined")]
    scalable = set(subjects.scalable(evidence).rows())
    allowed = [_allowed(row, _key(row) in scalable) for row in judged.iter_rows(named=True)]
    late = judged.with_columns(allowed=pl.Series(allowed)).filter(
        pl.col("queue_delay_us") > pl.col("allowed")
    )
    if late.is_empty():
        return []
    known = late.join(_medians(evidence, late), on=subjects.KEY, how="left", maintain_order="left")
    paths = neighbors.directions(evidence).select(*subjects.KEY, "path")
    known = known.join(paths, on=subjects.KEY, how="left", maintain_order="left")
    queues: dict[object, list[Row]] = {}
    for row in sorted(known.to_dicts(), key=_median, reverse=True):
        if _median(row)[1] > row["allowed"]:
            queues.setdefault(_queue(row, _key(row) in scalable), []).append(row)
    return clocks.measurable(evidence, [_finding(*rows) for rows in queues.values()])


def _queue(row: Row, ect1: bool) -> object:
    """What the flows of one queue have in common; those of a queue per flow have nothing."""
    if row["path"] is None or row["kind"] in ("per-flow", CLASSIC_OR_PER_FLOW):
        return _key(row)
    kind = "unmarked" if row["kind"] in NEVER_MARK else row["kind"]
    return row["source"], row["path"], kind, kind == "l4s" and ect1


def _key(row: Row) -> tuple[int, int, bool]:
    return row["source"], row["flow"], row["forward"]


def _allowed(row: Row, ect1: bool) -> float:
    """Queue delay up to which the queue is as it should be, in us."""
    if row["kind"] in NEVER_MARK:
        return UNMARKED_US
    target = TIMES_TARGET * _target(row["kind"], ect1)
    # Jitter raises every RTT: that much is not queue.
    return target + PACKETS * (row["serialisation_us"] or 0.0) + (row["noise_us"] or 0.0)


def _target(kind: str, ect1: bool) -> float:
    if kind in ("l4s", "shallow") and not ect1:
        # The classic queue of a dual-queue AQM; a shallow step is for ECT(1).
        return TARGET_US["classic"]
    return TARGET_US.get(kind, UNMARKED_US)


def _medians(evidence: Evidence, late: pl.DataFrame) -> pl.DataFrame:
    """`owd_median_us`; of all rounds the median packet's delay `packets_us`, and `low_us`."""
    ways = one_way.end_to_end(evidence).rename({"near": "source"})
    ways = ways.select(*subjects.KEY, "owd_median_us").unique(subjects.KEY, keep="first")
    waits = queue_delay.waits(evidence, late).select(*subjects.KEY, "packets_us", "low_us")
    return waits.join(ways, on=subjects.KEY, how="full", coalesce=True)


def _median(row: Row) -> tuple[str, float]:
    """Median queue delay of all packets with its name; that of steady rounds if nothing else."""
    named = {"owd_median_us": ONE_WAY, "packets_us": OF_PACKETS, "queue_delay_us": OF_ROUNDS}
    known = ((words, float(row[name])) for name, words in named.items() if row[name] is not None)
    return next(known, (OF_ROUNDS, 0.0))


def _finding(row: Row, *others: Row) -> Finding:
    (name, median), low, allowed = _median(row), row["low_us"], row["allowed"]
    # A tenth of the rounds above the threshold: one odd round does not decide.
    stands = low is not None and low > allowed
    return Finding(
        Severity.WARNING,
        Confidence.MEDIUM,
        f"The queue {'does not drain' if stands else 'is long'}: the median queue delay is "
        f"{milliseconds(median)} (threshold {milliseconds(allowed)}){_shared(row, others)}.",
        "Put an AQM at the bottleneck, or shorten its buffer."
        if row["kind"] in NEVER_MARK
        else "Check the AQM's target, a second queue in front of it, and flows that ignore marks.",
        **direction_of(row),
        headline=STANDS if stands else FAR_ABOVE,
        measures=(Measure(name, median, "us", f"at most {milliseconds(allowed)}"),),
    )


def _shared(row: Row, others: tuple[Row, ...]) -> str:
    """`; flows 0, 2 and 3 wait in it, too`, or nothing."""
    also = sorted({other["flow"] for other in others} - {row["flow"]})
    if not also:
        return ""
    flows = ("flow " if len(also) == 1 else "flows ") + listed([str(flow) for flow in also])
    return f"; {flows} wait{'s' * (len(also) == 1)} in it, too"


RULE = Rule.of(__name__, __doc__, check, FAR_ABOVE, STANDS)
