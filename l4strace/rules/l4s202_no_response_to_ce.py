"""An AccECN sender does not respond to CE marks.

What it checks
--------------
Rounds whose marks ask for a reduction of several packets, alpha/2 of what is in flight: whether the
data in flight falls at all.

Why it matters
--------------
A sender that ignores marks fills the shallow queue of an L4S AQM. The AQM can then protect other
flows only by dropping.

Evidence
--------
`cuts.alpha`, `fraction`, `fraction_hi` and `cwnd_before` of cause CE, as packets show them: alpha
is the one that the kernel recorded, else it is replayed from the feedback.

When it is wrong
----------------
If the sender follows another law than alpha/2 and reduces less, or if its application limits it.

What to do
----------
Check the congestion control of the sender, and that its kernel counts delivered_ce.

References
----------
RFC 9331 section 4.3; RFC 8257 section 3.3
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects

CODE = "L4S202"
MIN_CUTS = 10
"""Rounds from which the median is judged: by eye."""

MIN_PACKETS = 4.0
"""Packets that alpha/2 of the data in flight must amount to: twice what regrowth and counting whole
packets can hide (REGROWN and ROUNDED in derive/cuts, 2 packets)."""

ANSWERED = 0.25
"""Share of the expected reduction (median) below which the sender did not respond: by eye."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose data in flight does not fall as its marks ask."""
    asked = pl.col("alpha") / 2 * pl.col("cwnd_before")
    cuts = subjects.once(evidence, evidence.cuts).filter(
        (pl.col("cause") == "ce") & (pl.col("origin") == "packets") & (asked >= MIN_PACKETS)
    )
    ignored = (
        cuts.group_by(subjects.KEY, maintain_order=True)
        .agg(
            pl.len().alias("cuts"),
            (pl.col("fraction") / (pl.col("alpha") / 2)).median().alias("answered"),
            (pl.col("fraction_hi") / (pl.col("alpha") / 2)).median().alias("answered_hi"),
            (pl.col("alpha") / 2).median().alias("asked"),
            pl.col("fraction").median().alias("given"),
            pl.col("ts_ns").min().alias("first_ns"),
            pl.col("ts_ns").max().alias("last_ns"),
        )
        .filter((pl.col("cuts") >= MIN_CUTS) & (pl.col("answered_hi") < 1))
        .filter(pl.col("answered") < ANSWERED)
    )
    return [_finding(row) for row in ignored.iter_rows(named=True)]


def _finding(row: dict[str, Any]) -> Finding:
    return Finding(
        CODE,
        Severity.WARNING,
        Confidence.MEDIUM,
        f"The sender did not respond to CE: in {row['cuts']:,} rounds the marks asked for a "
        f"reduction of {100 * row['asked']:.0f} % (median of alpha/2), but the data in flight fell "
        f"by {100 * row['given']:.0f} % (median).",
        "Check the sender's congestion control and that its kernel counts delivered_ce.",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("expected reduction (alpha/2)", row["asked"], "share"),
            Measure("reduction", row["given"], "share", f"{100 * row['asked']:.0f} %"),
        ),
    )


RULE = Rule(CODE, "no-response-to-ce", "An AccECN sender ignores CE.", check, __doc__)
