"""A log shows alpha sixteen times too large.

What it checks
--------------
Whether a log's alpha exceeds 1, or is about sixteen times the alpha that the marks give.

Why it matters
--------------
L4STeam's `ss` divides alpha by 2^20 whatever the kernel's scale: on a 24-bit kernel it prints up to
1600 %. Whoever reads 32 % where alpha is 2 % blames the wrong part.

Evidence
--------
`kernel.alpha` against `rounds.alpha`.

When it is wrong
----------------
If the replay lacks the marks of the begin of the flow, it differs for a while, but not by sixteen.

What to do
----------
Divide by 16, or read alpha by a collector that knows the kernel's scale.

References
----------
L4STeam/iproute2, misc/ss.c; tcp_prague.c, prague_get_info
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects
from l4strace.rules.support.fallback_states import samples

CODE = "L4S209"
LARGEST = 1.0001
RATIO_LO, RATIO_HI = 10.0, 24.0
MIN_PAIRS = 20
FRESH_NS = 1_000_000_000
"""Polls come a few times a second; an older value says nothing of a round."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose recorded alpha has the wrong scale."""
    known = samples(evidence)
    if known.is_empty():
        return [Skipped(CODE, "no kernel log with alpha")]
    judged = known.join(_ratios(evidence), on=subjects.DIRECTION, how="left")
    wrong = judged.filter(
        (pl.col("alpha_max") > LARGEST)
        | ((pl.col("pairs") >= MIN_PAIRS) & pl.col("ratio").is_between(RATIO_LO, RATIO_HI))
    )
    return [_finding(row) for row in wrong.iter_rows(named=True)]


def _ratios(evidence: Evidence) -> pl.DataFrame:
    """Median of recorded over replayed alpha, at the rounds of a direction."""
    recorded = evidence.kernel.filter(pl.col("flow").is_not_null() & (pl.col("alpha") > 0)).select(
        *subjects.DIRECTION, "ts_ns", pl.col("alpha").alias("recorded")
    )
    rounds = subjects.rounds(evidence).filter(pl.col("alpha") > 0)
    paired = rounds.sort("end_ns").join_asof(
        recorded.sort("ts_ns"),
        left_on="end_ns",
        right_on="ts_ns",
        by=list(subjects.DIRECTION),
        check_sortedness=False,
        tolerance=FRESH_NS,
    )
    return (
        paired.drop_nulls("recorded")
        .group_by(subjects.DIRECTION)
        .agg(
            pl.len().alias("pairs"), (pl.col("recorded") / pl.col("alpha")).median().alias("ratio")
        )
    )


def _finding(row: dict[str, Any]) -> Finding:
    beyond = row["alpha_max"] > LARGEST
    why = (
        f"reaches {row['alpha_max']:.1f} where 1 is the most"
        if beyond
        else f"is {row['ratio']:.0f} times what the marks give"
    )
    return Finding(
        CODE,
        Severity.NOTICE,
        Confidence.HIGH if beyond else Confidence.MEDIUM,
        f"Alpha scale misread: alpha in the log {why}; a 24-bit value was divided by 2^20.",
        "Divide by 16, or use a collector that knows the kernel's scale.",
        flow=row["flow"],
        forward=row["forward"],
        measures=(Measure("largest alpha", row["alpha_max"], "", "at most 1"),),
    )


RULE = Rule(CODE, "alpha-scale-misread", "Alpha printed sixteen times too large.", check, __doc__)
