"""A lone flow ran far below a rate that it reached shortly before or after.

What it checks
--------------
The share of the seconds in which a flow that is alone on its path had less than 60 % of its own
best rate within five seconds, with an empty queue, while neither application nor receive window
limited its sender.

Why it matters
--------------
Reductions that are too deep, or growth that is too slow, waste the link: an L4S sender that is
marked in bursts on a jittery link, or one with the fallback's 31 %.

Evidence
--------
`rounds.acked_bytes`, `queue_delay_us` and `limited_by`; `bottlenecks.rate_bps` (which directions
have enough data); `coexistence` (which flows are alone).

When it is wrong
----------------
If the link itself became slower for a while, or a flow outside the capture took the rate: the queue
would then usually not be empty. The capacity of the path is not known: the flow's own best second
stands for it.

What to do
----------
Check the reductions (L4S308) and the step threshold of the AQM (1 ms is low for bursty links).

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
"""Share of the best rate below which a second is wasted: by eye, below the 69 % that one reduction
of the fallback leaves (prague_classic_ecn_fallback)."""

EMPTY_US = 500.0
"""Queue delay below which the queue counts as empty: half of DualPI2's step (sch_dualpi2.c)."""

NEARBY_SECONDS = 11
"""Seconds, five before and five after, whose best rate counts: by eye; a link that changed its rate
is not held against the flow for longer."""

MIN_SECONDS = 5
"""Whole seconds from which a flow is judged: by eye."""

MIN_SHARE = 0.3
"""Share of the seconds that must be wasted: by eye; less is slow start and single reductions."""

MIN_RATE_BPS = 1e6
"""Rate below which one packet takes 12 ms and seconds are too coarse: by eye."""

HALF = 0.5
"""Share of the rounds of a second from which application or receiver limit it."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each lone direction that stayed below its own rate."""
    rated = subjects.once(evidence, evidence.bottlenecks)
    rated = rated.filter(pl.col("rate_bps") >= MIN_RATE_BPS)
    if rated.is_empty():
        return [Skipped(CODE, "no flow direction has enough data, seen near its sender")]
    # Beside other flows a low rate is a share, not waste: only lone flows are judged.
    shared = subjects.once(evidence, evidence.coexistence).select(subjects.KEY)
    alone = rated.join(shared, on=subjects.KEY, how="anti")
    seconds = _seconds(evidence).join(alone.select(subjects.KEY), on=subjects.KEY, how="semi")
    idle = (
        (pl.col("bits") < LOW * pl.col("rate_bps"))
        & (pl.col("queue_us") < EMPTY_US)
        & (pl.col("held_back") < HALF)
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
        f"The flow wasted capacity: in {100 * row['idle']:.0f} % of the seconds it had less than "
        f"{100 * LOW:.0f} % of its best rate nearby although the queue was empty. On "
        f"average it had {row['mean_bps'] / 1e6:.1f} Mbit/s, at best "
        f"{row['rate_bps'] / 1e6:.1f} Mbit/s.",
        "Check the depth of the reductions and the AQM's threshold.",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        measures=(
            Measure("mean rate", row["mean_bps"], "bit/s"),
            Measure("best rate nearby, mean", row["rate_bps"], "bit/s"),
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


RULE = Rule(CODE, "under-utilisation", "A lone flow wasted capacity.", check, __doc__)
