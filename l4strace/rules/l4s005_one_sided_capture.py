"""The capture contains only one direction of a flow.

What it checks
--------------
Flows with at least 10 packets in one direction and none in the other.

Why it matters
--------------
Feedback travels against the data. Without it the capture has no RTT, no acknowledged bytes and no
ACE, so no rule about congestion response can judge the flow. Marks on the data itself, gaps and
rates remain exact.

Evidence
--------
`directions.packets` and `directions.data_packets` of either direction.

When it is wrong
----------------
A flow whose last packets alone are in the capture may look one-sided.

What to do
----------
Capture where both directions pass: at an end host, or on both links of an asymmetric path. Check
that the capture filter matches both directions.

References
----------
RFC 9768 section 3.2
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of

MIN_DATA_PACKETS = 10
"""Packets of one direction after which the other should appear: the initial window of RFC 6928,
after which a sender waits for the first ACK."""
SINGLE = 20
"""Flows of one input with a finding each; more than this share one finding."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding per flow, or one per input when there are many."""
    needed = evidence.directions.select("source", "flow", "forward", "packets", "data_packets")
    seen = needed.filter(pl.col("packets") > 0)
    there, back = (seen.filter(way)[["source", "flow"]] for way in ("forward", ~pl.col("forward")))
    if there.equals(back):
        return []
    seen = seen.group_by("source", "flow").agg(
        pl.len().alias("directions"),
        pl.col("packets").sum(),
        pl.col("forward").first(),
        pl.col("data_packets").sum(),
    )
    lone = seen.filter((pl.col("directions") == 1) & (pl.col("packets") >= MIN_DATA_PACKETS))
    if lone.is_empty():
        return []
    found: list[Finding | Skipped] = []
    for (source,), rows in lone.sort("source", "flow").group_by("source", maintain_order=True):
        if rows.height > SINGLE:
            many = f"{rows.height:,} flows"
            found.append(_finding(many, source=int(str(source))))
        else:
            found += [
                _finding(
                    "this flow",
                    **direction_of(row),
                    data=2 * (row["data_packets"] or 0) > row["packets"],
                    measures=(Measure("packets of the other direction", 0),),
                )
                for row in rows.iter_rows(named=True)
            ]
    return found


def _finding(
    whose: str,
    source: int,
    flow: int | None = None,
    forward: bool | None = None,
    data: bool = False,
    measures: tuple[Measure, ...] = (),
) -> Finding:
    return Finding(
        Severity.NOTICE,
        Confidence.HIGH,
        f"The capture contains only one direction of {whose}: {_judged(data)}.",
        "Capture where both directions pass, with a filter that matches both.",
        source=source,
        flow=flow,
        forward=forward,
        measures=measures,
    )


def _judged(data: bool) -> str:
    """What the captured direction shows: data has marks, gaps and a rate, ACKs have feedback."""
    if data:
        return "marks, gaps and rates are judged; RTT, feedback and congestion response cannot be"
    return "RTT, feedback and congestion response cannot be judged"


RULE = Rule.of(__name__, __doc__, check, "The capture shows only one direction")
