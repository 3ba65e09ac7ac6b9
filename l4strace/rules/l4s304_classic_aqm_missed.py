"""Prague's detector ran and did not detect a classic AQM.

What it checks
--------------
Whether the recorded score was above 8 in less than a tenth of the detector's steps, although the
packets show one queue that marks the packets of other flows too: at a millisecond (shallow) or at
several (classic).

Why it matters
--------------
Prague reduces its window by alpha/2, a few percent, at marks at which the other flows halve theirs.
In published runs it then gets 20 to 60 times their rate.

Evidence
--------
`detector.score`, `score_fixed`, `mdev_us` and `depth_us`; `bottlenecks.kind`, `confidence` and
`marking_delay_us`; `coexistence` (who starves, and from when).

When it is wrong
----------------
If the other flow does not respond to marks, or starves for another reason.

What to do
----------
Do not mark classic traffic at L4S thresholds: give it a queue of its own (DualPI2, FQ), or restrict
ce_threshold to ECT(1) (`ce_threshold_selector 0x01/0x01`).

References
----------
RFC 9331 section 4.3; heistp/sce-l4s-ect1 README, key findings ("tightened AQM settings for Codel,
RED and PIE")
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.prague.constants import SCALABLE_THRESHOLD
from l4strace.rules.support import subjects
from l4strace.rules.support.fallback_states import (
    MIN_SHARE,
    MIN_STEPS,
    MISSED,
    part_of_time,
    steps,
    without_score,
)

CODE = "L4S304"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction that stayed scalable in a shared classic queue."""
    recorded = steps(evidence)
    if recorded.is_empty():
        return [Skipped(CODE, without_score(evidence))]
    judged = recorded.join(subjects.bottlenecks(evidence), on=subjects.DIRECTION, how="inner")
    if judged.is_empty():
        return [Skipped(CODE, "no capture shows what the bottleneck is")]
    # A score of exactly 0 where a correct detector exceeds 8 means that none ran: L4S305.
    ran = (pl.col("score_max") > 0) | ~(pl.col("fixed_share") >= MIN_SHARE).fill_null(False)
    missed = judged.filter(
        ran
        & pl.col("kind").is_in(["classic", "shallow"])
        & (pl.col("confidence") >= subjects.ISOLATED_CONFIDENCE)
        & (pl.col("classic_share") < MISSED)
        & (pl.col("steps") >= MIN_STEPS)
    )
    return [_finding(evidence, row) for row in missed.iter_rows(named=True)]


def _finding(evidence: Evidence, row: dict[str, Any]) -> Finding:
    at = (row["marking_delay_us"] or 0.0) / 1000
    return Finding(
        CODE,
        Severity.WARNING,
        Confidence.HIGH,
        f"Prague's detector missed a classic AQM: all flows share one queue that marks from "
        f"{at:.1f} ms of queue delay, but {_score(row)}"
        f"{subjects.starved_by(evidence, row['flow'])}.",
        "Give classic traffic a queue of its own, or mark only ECT(1) at such a threshold.",
        flow=row["flow"],
        forward=row["forward"],
        measures=(
            Measure("highest score", row["score_max"], "", "above 8 on a classic AQM"),
            Measure("queue delay", row["depth_us"], "us", "at least 2 ms to be detected"),
            Measure("RTT deviation", row["mdev_us"], "us", "at least 0.75 ms to be detected"),
            Measure("queue delay at which marking begins", row["marking_delay_us"] or 0.0, "us"),
        ),
    )


def _score(row: dict[str, Any]) -> str:
    if row["score_max"] <= SCALABLE_THRESHOLD:
        return f"the score did not exceed {row['score_max']:.1f} (threshold 8)"
    return f"the score was above 8 only{part_of_time(row)}"


RULE = Rule(
    CODE, "classic-aqm-missed", "A classic AQM that the detector did not detect.", check, __doc__
)
