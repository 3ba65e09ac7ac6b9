"""What limits each flow.

What it checks
--------------
Which kind of queue the packets of a flow went through: an L4S AQM, a classic AQM on one queue, a
shallow step on one queue, a queue per flow, a FIFO, or none. A classic AQM on one queue and one on
a queue per flow mark a lone flow alike (fq_codel runs CoDel in each queue): where no other flow
shows which it is, the finding names both. For the fallback they are the same.

Why it matters
--------------
Every other verdict depends on it: whether a fallback is right, whether a missing mark is a fault,
whether a delay is expected.

Evidence
--------
`bottlenecks.kind`, `confidence` and `reason`: the queue delay at which marking begins
(`marking_delay_us`), marks per round, losses, and whether the other flows of the path share delay
and marks. Flows that always have packets waiting get equal rates from a queue per flow whatever
their RTTs, and equal RTTs from one queue whatever their rates. The handshakes of connections that
are too short to be compared show whether they waited in the queue of a long flow. The time of a
packet (`serialisation_us`) and noise (`noise_us`) bound how precise that delay and the median
(`queue_delay_us`; `paths.owd_median_us` between two captures) are. What cannot be determined is
worded for the direction with most `directions.payload_bytes`. No kernel state is used.

When it is wrong
----------------
Load that is balanced over several links looks like a queue per flow. A single kind is given for the
whole run, even if the bottleneck moved.

What to do
----------
Nothing: this is information. Record a competing flow to make the kind certain.

References
----------
RFC 9332; RFC 8289; sch_dualpi2.c
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects
from l4strace.schema.words import BOTTLENECKS
from l4strace.wording.quantities import marking_delay

CODE = "L4S401"
NAMES = BOTTLENECKS


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose bottleneck can be determined."""
    judged = subjects.once(evidence, evidence.bottlenecks)
    one_way = evidence.paths.select(*subjects.DIRECTION, "owd_median_us")
    known = judged.filter(pl.col("kind") != "unknown").join(
        one_way.unique(subjects.DIRECTION, keep="first"),
        on=subjects.DIRECTION,
        how="left",
        maintain_order="left",
    )
    results: list[Finding | Skipped] = [_finding(row) for row in known.iter_rows(named=True)]
    unknown = judged.filter(pl.col("kind") == "unknown")
    if unknown.height:
        # As the frame does: what the flow with most bytes met comes first.
        carried = evidence.directions.select(*subjects.KEY, "payload_bytes")
        largest = unknown.join(carried, on=subjects.KEY, how="left").sort(
            "payload_bytes", "flow", descending=[True, False], nulls_last=True
        )
        reason = f"{unknown.height} of {judged.height} flow directions: {largest['reason'][0]}"
        results.append(Skipped(CODE, reason))
    elif judged.is_empty():
        results.append(Skipped(CODE, "no flow direction has enough data, seen near its sender"))
    return results


def _finding(row: dict[str, Any]) -> Finding:
    measures = []
    queue = row["queue_delay_us"] if row["owd_median_us"] is None else row["owd_median_us"]
    # Less than the noise of the path is no queue that these packets show.
    if queue is not None and queue >= (row["noise_us"] or 0.0):
        measures.append(Measure("queue delay, median", queue, "us"))
    if row["marking_delay_us"] is not None:
        measures.append(Measure("queue delay at which marking begins", marking_delay(row)))
        measures.append(Measure("marked share", row["ce_share"] or 0.0, "share"))
    if row["rate_bps"]:
        measures.append(Measure("rate of the path", row["rate_bps"], "bit/s"))
    return Finding(
        CODE,
        Severity.INFO,
        _confidence(row["confidence"]),
        f"Bottleneck: {NAMES[row['kind']]}. {row['reason']}",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        measures=tuple(measures),
    )


def _confidence(value: float) -> Confidence:
    if value >= subjects.ISOLATED_CONFIDENCE:
        return Confidence.HIGH
    return Confidence.MEDIUM if value >= subjects.LIKELY_CONFIDENCE else Confidence.LOW


RULE = Rule(CODE, "bottleneck", "What limits the flow.", check, __doc__)
