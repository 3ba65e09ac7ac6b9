"""The fallback fired on an L4S AQM for a reason that is in the path, not in the kernel.

What it checks
--------------
Whether the recorded score stood above 8 on a bottleneck that the packets show to be L4S, while the
detector's inputs really were at or above a reference (750 us deviation, 2000 us depth).

Why it matters
--------------
The detector cannot tell queueing delay from the time that one packet takes on a slow link, nor from
jitter. Prague then cuts by 31 % where alpha/2 would do. It is a known limit of the algorithm, not a
broken build.

Evidence
--------
`detector` (recorded steps and replay with the correct references), `bottlenecks.serialisation_us`.

When it is wrong
----------------
If the bottleneck changed during the run: the class is that of the whole run.

What to do
----------
On links of a few Mbit/s set prague_ecn_fallback=0, or accept the loss of rate. With jitter, look
for the hop that adds it.

References
----------
arXiv 1911.00710v3, abstract ("not at low link rates and large RTTs"); sce-l4s-ect1 README, key
findings; prague-fallback-experiments, row of 4 Mbit/s
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects
from l4strace.rules.support.fallback_states import (
    DEPTH_US,
    MDEV_US,
    MIN_SHARE,
    steps,
    without_score,
)

CODE = "L4S303"
SLOW_US = 1500.0
"""Time of one packet from which the link itself makes the deviation: 8 Mbit/s. In the study
4 Mbit/s is a false positive in every cell and 8 Mbit/s in none
(Greenscreen23/prague-fallback-experiments, patched kernel)."""

NEAR = 0.9
"""The inputs hover about a reference: within a tenth of it they count as at it."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose inputs justify what the path does not."""
    recorded = steps(evidence)
    if recorded.is_empty():
        return [Skipped(CODE, without_score(evidence))]
    judged = recorded.join(subjects.bottlenecks(evidence), on=subjects.DIRECTION, how="left")
    unknown = judged.filter(pl.col("kind").is_null() & (pl.col("classic_share") >= MIN_SHARE))
    high = (pl.col("classic_mdev_us") >= NEAR * MDEV_US) | (
        pl.col("classic_depth_us") >= NEAR * DEPTH_US
    )
    fired = judged.filter((pl.col("classic_share") >= MIN_SHARE) & (pl.col("kind") == "l4s") & high)
    said: list[Finding | Skipped] = [_finding(row) for row in fired.iter_rows(named=True)]
    if unknown.height:
        said.append(Skipped(CODE, "no capture shows what the bottleneck is"))
    return said


def _finding(row: dict[str, Any]) -> Finding:
    packet_us = row["serialisation_us"] or 0.0
    slow = packet_us >= SLOW_US
    rate = (row["rate_bps"] or 0.0) / 1e6
    mdev = row["classic_mdev_us"] / 1000
    if slow:
        message = (
            f"Fallback fired on an L4S AQM because the link is slow: at {rate:.1f} Mbit/s one "
            f"packet takes {packet_us / 1000:.1f} ms and makes {mdev:.2f} ms of deviation itself; "
            "it is not the scaling bug."
        )
    else:
        message = (
            f"Fallback fired on an L4S AQM although the build is right: {mdev:.2f} ms of RTT "
            "deviation, as jitter or a change of the bottleneck makes, exceed its 0.75 ms."
        )
    return Finding(
        CODE,
        Severity.NOTICE if slow else Severity.WARNING,
        Confidence.HIGH if slow and (row["fixed_share"] or 0) > 0 else Confidence.MEDIUM,
        message,
        "Set prague_ecn_fallback=0 on such links, or find the hop that adds the jitter.",
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["classic_since_ns"], row["last_ns"]),
        measures=(
            Measure("time above 8", row["classic_share"], "share", "0 on an L4S AQM"),
            Measure("the same, replayed", row["fixed_share"] or 0.0, "share"),
            Measure("RTT mean deviation", row["classic_mdev_us"], "us", "under 750 us"),
            Measure("queue depth", row["classic_depth_us"], "us", "under 2000 us"),
            Measure("time of one packet", packet_us, "us", "well under 750 us"),
        ),
    )


RULE = Rule(CODE, "fallback-false-positive", "Fallback on an L4S AQM, by the path.", check, __doc__)
