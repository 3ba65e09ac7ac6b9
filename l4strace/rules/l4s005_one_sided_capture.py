"""Only one direction of a flow is in the capture.

What it checks
--------------
Flows that carried data in one direction and show no packet at all of the other.

Why it matters
--------------
Feedback travels against the data. Without it there is no RTT, no acknowledged byte, no ACE and no
CE count, so every rule about congestion response is blind.

Evidence
--------
`directions.packets` of both directions.

When it is wrong
----------------
A flow of which the capture caught only the last packets may look one-sided.

What to do
----------
Capture where both directions pass: on an end host, or on both links of an asymmetric path. Check
that the capture filter matches both directions.

References
----------
RFC 9768 section 3.2
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped

CODE = "L4S005"
ENOUGH = 10
"""Packets of one direction after which the other should have shown up."""
SINGLE = 20
"""Flows of one input that get a finding each; more are said in one."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding per flow, or one per input when there are many."""
    ways = (
        evidence.directions.filter(pl.col("packets") > 0)
        .group_by("source", "flow")
        .agg(pl.len().alias("ways"), pl.col("packets").sum(), pl.col("forward").first())
    )
    lone = ways.filter((pl.col("ways") == 1) & (pl.col("packets") >= ENOUGH)).sort("source", "flow")
    said: list[Finding | Skipped] = []
    for (source,), rows in lone.group_by("source", maintain_order=True):
        if rows.height > SINGLE:
            said.append(_finding(f"{rows.height:,} flows show", source=int(str(source))))
        else:
            said += [
                _finding(
                    "The flow shows",
                    source=row["source"],
                    flow=row["flow"],
                    forward=row["forward"],
                    measures=(Measure("packets of the other direction", 0),),
                )
                for row in rows.iter_rows(named=True)
            ]
    return said


def _finding(
    what: str,
    source: int,
    flow: int | None = None,
    forward: bool | None = None,
    measures: tuple[Measure, ...] = (),
) -> Finding:
    return Finding(
        CODE,
        Severity.NOTICE,
        Confidence.HIGH,
        f"{what} only one direction: RTT, feedback and congestion response cannot be judged.",
        "Capture where both directions pass, with a filter that matches both.",
        source=source,
        flow=flow,
        forward=forward,
        measures=measures,
    )


RULE = Rule(CODE, "one-sided-capture", "One direction of a flow is missing.", check, __doc__)
