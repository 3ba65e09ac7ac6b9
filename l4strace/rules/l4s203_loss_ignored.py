"""A sender does not slow down at loss.

What it checks
--------------
Whether the data in flight falls in the two rounds after retransmissions.

Why it matters
--------------
Loss is the one signal that every path can give. A sender that ignores it can collapse a FIFO; early
Prague did so in L4S mode.

Evidence
--------
`cuts` of cause `loss`.

When it is wrong
----------------
Spurious retransmissions that the sender undid; small flights, which are left out; losses in a tail
after which the application has nothing to send.

What to do
----------
Check the sender's congestion control.

References
----------
RFC 9331 section 4.3 (loss response as Reno); sce-l4s-ect1 README
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects

CODE = "L4S203"
MIN_EPISODES = 3
MIN_WINDOW = 8.0
NO_CUT = 0.1
"""BBR gives up less than others, CUBIC 30 %, Reno half."""

MAJORITY = 0.8
RECOVERY_ROUNDS = 4
"""Rounds with retransmissions closer than this are one episode."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose flight survives most episodes of loss."""
    cuts = subjects.once(evidence, evidence.cuts).filter(
        (pl.col("cause") == "loss")
        & (pl.col("origin") == "packets")
        & (pl.col("cwnd_before") >= MIN_WINDOW)
    )
    gap = (pl.col("round") - pl.col("round").shift()).over(subjects.KEY)
    episode = (gap > RECOVERY_ROUNDS).fill_null(True).cast(pl.Int64).cum_sum().over(subjects.KEY)
    episodes = (
        cuts.sort(*subjects.KEY, "round")
        .with_columns(episode.alias("episode"))
        .group_by(*subjects.KEY, "episode", maintain_order=True)
        .agg(pl.col("fraction_hi").max(), pl.col("ts_ns").min(), pl.col("fraction").max())
    )
    ignored = (
        episodes.group_by(subjects.KEY, maintain_order=True)
        .agg(
            pl.len().alias("episodes"),
            (pl.col("fraction_hi") < NO_CUT).mean().alias("ignored"),
            pl.col("fraction").median(),
            pl.col("ts_ns").min().alias("first_ns"),
            pl.col("ts_ns").max().alias("last_ns"),
        )
        .filter((pl.col("episodes") >= MIN_EPISODES) & (pl.col("ignored") >= MAJORITY))
    )
    return [_finding(row) for row in ignored.iter_rows(named=True)]


def _finding(row: dict[str, Any]) -> Finding:
    return Finding(
        CODE,
        Severity.WARNING,
        Confidence.MEDIUM,
        f"Loss ignored: the flight did not fall in {100 * row['ignored']:.0f} % of "
        f"{row['episodes']} episodes of loss.",
        "Check the sender's congestion control.",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(Measure("median cut at loss", row["fraction"], "share", "half"),),
    )


RULE = Rule(CODE, "loss-ignored", "No cut at loss.", check, __doc__)
