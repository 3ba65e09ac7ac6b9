"""The receiver's feedback does not match the marks that the capture saw arrive.

What it checks
--------------
CE packets counted at or near the receiver against the bounds of what its ACE counter and AccECN
option reported.

Why it matters
--------------
Feedback that reports less than arrived lets the sender fill the queue at the cost of all others;
feedback that reports more slows it down for nothing.

Evidence
--------
`directions.ce` where the capture stands at the receiver, `ce_fed_back_lo` and `ce_fed_back_hi`.

When it is wrong
----------------
Marks whose acknowledgement had not left when the capture ended are not reported yet; a few percent
are allowed for. Receive offload merges packets and their marks (L4S003).

What to do
----------
Rule offloads out first. If the mismatch stays, compare the ACE bits at both ends: the path may
change them (L4S108), else the receiver's stack is at fault.

References
----------
RFC 9768 section 3.2.2
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped

CODE = "L4S112"
TOLERANCE = 0.02
FEW = 8
"""Marks still on their way back when a capture ends, and one wrap of ACE."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow direction captured at its receiver."""
    keys = ["source", "flow"]
    at_receiver = pl.when(pl.col("forward")).then(pl.lit("server")).otherwise(pl.lit("client"))
    judged = (
        evidence.directions.join(evidence.flows.select(*keys, "mode", "vantage"), on=keys)
        .filter((pl.col("mode") == "accecn") & pl.col("ce_fed_back_hi").is_not_null())
        .with_columns(far=pl.col("vantage") == at_receiver)
    )
    if judged.height and not judged["far"].any():
        return [Skipped(CODE, "no capture at a receiver: what arrived there is not known")]
    slack = pl.max_horizontal(pl.lit(FEW), TOLERANCE * pl.col("ce"))
    rows = judged.filter(
        pl.col("far")
        & (pl.col("super_packets") == 0)
        & (
            (pl.col("ce") > pl.col("ce_fed_back_hi") + slack)
            | (pl.col("ce") + slack < pl.col("ce_fed_back_lo"))
        )
    )
    return [_finding(row) for row in rows.iter_rows(named=True)]


def _finding(row: dict[str, Any]) -> Finding:
    low, high = row["ce_fed_back_lo"], row["ce_fed_back_hi"]
    reported = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return Finding(
        CODE,
        Severity.WARNING,
        Confidence.MEDIUM,
        f"{row['ce']:,} packets arrived with CE and the receiver reported {reported}.",
        "Rule out offloads, then compare the ACE bits at both ends.",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("CE packets arrived", row["ce"]),
            Measure("CE packets reported", reported, "", f"{row['ce']:,}"),
        ),
    )


RULE = Rule(CODE, "feedback-mismatch", "Feedback does not match the marks.", check, __doc__)
