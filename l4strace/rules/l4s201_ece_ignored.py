"""A classic ECN sender does not answer ECE.

What it checks
--------------
Flows that negotiated RFC 3168 ECN: whether the data in flight falls after the receiver echoes
congestion (ECE), and whether the sender answers with CWR.

Why it matters
--------------
A sender that takes part in ECN and ignores it turns marking into a privilege: it gets no loss and
gives nothing up.

Evidence
--------
`cuts` of cause `ece`, `directions.cwr_packets`.

When it is wrong
----------------
At two or three packets in flight there is nothing to give up: such rounds are left out. A flow held
back by its application shows no window.

What to do
----------
Check the sender's stack; switch ECN off there until it responds.

References
----------
RFC 3168 section 6.1.2
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects

CODE = "L4S201"
MIN_CUTS = 3
MIN_WINDOW = 8.0
"""Packets in flight from which half of them is visible beside the growth of two rounds."""

NO_CUT = 0.1
MAJORITY = 0.8


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose flight did not fall at most echoes."""
    cuts = subjects.once(evidence, evidence.cuts).filter(
        (pl.col("cause") == "ece") & (pl.col("cwnd_before") >= MIN_WINDOW)
    )
    # An echo lasts until CWR arrives: only the first of a run of rounds asks for a cut.
    first = (pl.col("round") - pl.col("round").shift()).over(subjects.KEY).fill_null(9) > 2
    ignored = (
        cuts.sort(*subjects.KEY, "round")
        .filter(first)
        .group_by(subjects.KEY, maintain_order=True)
        .agg(
            pl.len().alias("echoes"),
            (pl.col("fraction_hi") < NO_CUT).mean().alias("ignored"),
            pl.col("ts_ns").min().alias("first_ns"),
            pl.col("ts_ns").max().alias("last_ns"),
        )
        .filter((pl.col("echoes") >= MIN_CUTS) & (pl.col("ignored") >= MAJORITY))
        .join(evidence.directions.select(*subjects.KEY, "cwr_packets"), on=subjects.KEY, how="left")
    )
    return [_finding(row) for row in ignored.iter_rows(named=True)]


def _finding(row: dict[str, Any]) -> Finding:
    silent = not row["cwr_packets"]
    answer = "without a single CWR" if silent else f"despite {row['cwr_packets']} packets with CWR"
    return Finding(
        CODE,
        Severity.WARNING,
        Confidence.HIGH if silent else Confidence.MEDIUM,
        f"ECE ignored: the flight did not fall at {100 * row['ignored']:.0f} % of {row['echoes']} "
        f"echoes, {answer}.",
        "Check the sender's stack; switch ECN off there until it responds.",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("echoes without a cut", row["ignored"], "share", "0"),
            Measure("packets with CWR", row["cwr_packets"] or 0, "packet", "one for each echo"),
        ),
    )


RULE = Rule(CODE, "ece-ignored", "A classic sender ignores ECE.", check, __doc__)
