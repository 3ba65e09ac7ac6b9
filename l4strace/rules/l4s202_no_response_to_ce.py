"""An AccECN sender does not answer CE marks.

What it checks
--------------
Rounds in which the fed-back marks ask for a cut of several packets (alpha/2 of what is in flight):
whether the flight falls at all.

Why it matters
--------------
A sender that ignores marks fills the shallow queue of an L4S AQM, and the AQM protects the others
from it only by dropping.

Evidence
--------
`cuts` of cause `ce` from packets, `rounds.alpha` replayed from the feedback.

When it is wrong
----------------
A sender with another law than alpha/2 that cuts less; flows that are limited by their application.

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
MIN_PACKETS = 4.0
"""Packets that alpha/2 of the flight must be for their absence to show."""

ANSWERED = 0.25
"""Share of the cut asked for below which there was no answer, in the median."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose flight stays where marks ask for less."""
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
        f"No response to CE: {row['cuts']} times the marks asked for a cut of "
        f"{100 * row['asked']:.0f} % (median), the flight fell by {100 * row['given']:.0f} %.",
        "Check the sender's congestion control and that its kernel counts delivered_ce.",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("cut asked for (alpha/2)", row["asked"], "share"),
            Measure("cut made", row["given"], "share", "as asked"),
        ),
    )


RULE = Rule(CODE, "no-response-to-ce", "An AccECN sender ignores CE.", check, __doc__)
