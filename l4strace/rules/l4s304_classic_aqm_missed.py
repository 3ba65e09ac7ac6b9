"""Prague's detector ran and did not notice a classic AQM.

What it checks
--------------
Whether the recorded score stayed at or below 8 over most steps although the packets show one queue
that marks every flow, at a millisecond (shallow) or at several (classic).

Why it matters
--------------
With alpha/2 cuts of a few percent Prague takes the share of the flows that halve at the same
marks: 20 to 60 times theirs in published runs.

Evidence
--------
`detector`, `bottlenecks`, `coexistence` (who starves, since when).

When it is wrong
----------------
If the other flow is not responsive, or starves for a reason of its own.

What to do
----------
Do not mark classic traffic at L4S thresholds: give it a queue of its own (DualPI2, FQ), or restrict
ce_threshold to ECT(1) (`ce_threshold_selector 0x01/0x01`).

References
----------
RFC 9331 section 4.3; sce-l4s-ect1 README, key findings ("tightened AQM settings for Codel, RED and
PIE")
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects
from l4strace.rules.support.fallback_states import MIN_SHARE, steps, without_score

CODE = "L4S304"
MIN_STEPS = 20
"""The detector needs some rounds: 5 at 6 ms of depth, more nearer to the references (3.4)."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction that stayed scalable in a shared classic queue."""
    recorded = steps(evidence)
    if recorded.is_empty():
        return [Skipped(CODE, without_score(evidence))]
    judged = recorded.join(subjects.bottlenecks(evidence), on=subjects.DIRECTION, how="inner")
    if judged.is_empty():
        return [Skipped(CODE, "no capture shows what the bottleneck is")]
    # A score of exactly 0 that a correct detector would have raised means that none ran: L4S305.
    ran = (pl.col("score_max") > 0) | ~(pl.col("fixed_share") >= MIN_SHARE).fill_null(False)
    missed = judged.filter(
        ran
        & pl.col("kind").is_in(["classic", "shallow"])
        & (pl.col("confidence") >= subjects.ISOLATED_CONFIDENCE)
        & (pl.col("classic_share") < MIN_SHARE)
        & (pl.col("steps") >= MIN_STEPS)
    )
    return [_finding(evidence, row) for row in missed.iter_rows(named=True)]


def _finding(evidence: Evidence, row: dict[str, Any]) -> Finding:
    at = (row["marking_delay_us"] or 0.0) / 1000
    return Finding(
        CODE,
        Severity.WARNING,
        Confidence.HIGH,
        f"Classic AQM missed: one queue marks all flows from {at:.1f} ms, yet the score stayed at "
        f"{row['score_max']:.1f} of 17 at most{subjects.starved_by(evidence, row['flow'])}.",
        "Give classic traffic a queue of its own, or mark only ECT(1) at such a threshold.",
        flow=row["flow"],
        forward=row["forward"],
        measures=(
            Measure("highest score", row["score_max"], "", "above 8 on a classic AQM"),
            Measure("queue depth", row["depth_us"], "us", "the detector asks for 2000 us"),
            Measure("RTT mean deviation", row["mdev_us"], "us", "the detector asks for 750 us"),
            Measure("marks set in at", row["marking_delay_us"] or 0.0, "us"),
        ),
    )


RULE = Rule(
    CODE, "classic-aqm-missed", "A classic AQM that the detector overlooked.", check, __doc__
)
