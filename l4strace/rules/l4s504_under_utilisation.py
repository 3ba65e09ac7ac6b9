"""The path ran far below its own rate while senders were not held back.

What it checks
--------------
Seconds in which a flow that is alone on its path got less than 60 % of the best rate within five
seconds of them, with an empty queue, while its sender was limited by congestion control.

Why it matters
--------------
Cuts that are too deep, or growth that is too slow, waste the link: an L4S sender in bursts of step
marks on a jittery link, or one with the fallback's 31 % floor.

Evidence
--------
`rounds.acked_bytes`, `queue_delay_us`, `limited_by`.

When it is wrong
----------------
If the link itself got slower for a while, its queue would not be empty; if a flow outside the
capture took the rate, it would not either. Both are excluded only as far as delay shows.

What to do
----------
Look at the cuts (L4S308) and at the step threshold of the AQM (1 ms is low for bursty links).

References
----------
heistp/l4s-tests: on a bursty link Prague gets 14.3 of 20 Mbit/s at a 1 ms step
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects

CODE = "L4S504"
LOW = 0.6
EMPTY_US = 500.0
NEARBY_SECONDS = 11
"""The best rate is sought nearby: a link that changed its rate is not held against a flow."""

MIN_SECONDS = 5
MIN_SHARE = 0.3
"""Of the seconds: less is slow start and the odd cut."""

MIN_RATE_BPS = 1e6


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each lone direction that left its path idle."""
    told = subjects.once(evidence, evidence.bottlenecks).filter(pl.col("rate_bps") >= MIN_RATE_BPS)
    if told.is_empty():
        return [Skipped(CODE, "no flow direction has enough data, seen near its sender")]
    # Beside others a low rate is a share, not waste: only flows that are alone are judged.
    shared = subjects.once(evidence, evidence.coexistence).select(subjects.KEY)
    alone = told.join(shared, on=subjects.KEY, how="anti")
    seconds = _seconds(evidence).join(alone.select(subjects.KEY), on=subjects.KEY, how="semi")
    idle = (
        (pl.col("bits") < LOW * pl.col("rate_bps"))
        & (pl.col("queue_us") < EMPTY_US)
        & (pl.col("held_back") < 0.5)
    )
    wasted = (
        seconds.group_by(subjects.KEY)
        .agg(
            pl.len().alias("seconds"),
            idle.mean().alias("idle"),
            pl.col("bits").mean().alias("mean_bps"),
            pl.col("rate_bps").mean(),
        )
        .filter((pl.col("seconds") >= MIN_SECONDS) & (pl.col("idle") >= MIN_SHARE))
    )
    rows = wasted.sort(subjects.KEY).iter_rows(named=True)
    return [_finding(row) for row in rows]


def _finding(row: dict[str, Any]) -> Finding:
    return Finding(
        CODE,
        Severity.NOTICE,
        Confidence.LOW,
        f"The path was left idle: {row['mean_bps'] / 1e6:.1f} of {row['rate_bps'] / 1e6:.1f} "
        f"Mbit/s on average, in {100 * row['idle']:.0f} % of the time below {100 * LOW:.0f} % "
        "with an empty queue.",
        "Look at the depth of the cuts and at the AQM's threshold.",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        measures=(
            Measure("mean rate", row["mean_bps"], "bit/s"),
            Measure("rate of the path", row["rate_bps"], "bit/s"),
        ),
    )


def _seconds(evidence: Evidence) -> pl.DataFrame:
    """Bits, delay and limits of each whole second of a direction."""
    second = (pl.col("start_ns") // 1_000_000_000).alias("second")
    sums = evidence.rounds.group_by(*subjects.KEY, second).agg(
        (pl.col("acked_bytes").sum() * 8).cast(pl.Float64).alias("bits"),
        pl.col("queue_delay_us").median().alias("queue_us"),
        pl.col("limited_by").is_in(["app", "rwnd"]).mean().fill_null(0.0).alias("held_back"),
    )
    first, last = (getattr(pl.col("second"), f)().over(subjects.KEY) for f in ("min", "max"))
    best = pl.col("bits").rolling_max(NEARBY_SECONDS, min_samples=1, center=True)
    return (
        sums.filter((pl.col("second") > first) & (pl.col("second") < last))
        .sort(*subjects.KEY, "second")
        .with_columns(best.over(subjects.KEY).alias("rate_bps"))
    )


RULE = Rule(CODE, "under-utilisation", "The path was left idle.", check, __doc__)
