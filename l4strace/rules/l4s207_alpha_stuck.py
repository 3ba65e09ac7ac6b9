"""Alpha does not move although CE marks arrive.

What it checks
--------------
Flows for which the kernel counted CE marks over many rounds while its alpha stayed one value.

Why it matters
--------------
Alpha is the sender's measure of congestion. Stuck at 0 Prague ignores marks, stuck at 1 it halves
at each.

Evidence
--------
`kernel.alpha`, `kernel.delivered_ce`, `detector.score` where recorded.

When it is wrong
----------------
A poll that shows alpha in whole percent hides small moves.

What to do
----------
Check that the log reads the right field for this build; then the kernel's prague_update_alpha.

References
----------
L4STeam/linux issue 1 ("This will always be zero"); RFC 8257 section 3.3
"""

from __future__ import annotations

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support.fallback_states import samples

CODE = "L4S207"
MIN_CE = 20
MIN_SAMPLES = 50


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction with many marks and one alpha."""
    known = samples(evidence)
    if known.is_empty():
        return [Skipped(CODE, "no kernel log with alpha")]
    said: list[Finding | Skipped] = []
    for row in known.iter_rows(named=True):
        marks = (row["delivered_ce"] or 0) - (row["delivered_ce_first"] or 0)
        if row["alphas"] == 1 and row["samples"] >= MIN_SAMPLES and marks >= MIN_CE:
            said.append(
                Finding(
                    CODE,
                    Severity.WARNING,
                    Confidence.HIGH,
                    f"Alpha stuck at {row['alpha_last']:.3f} over {row['samples']:,} samples while "
                    f"{marks:,} CE marks arrived.",
                    "Check the field that the log reads, then the kernel's prague_update_alpha.",
                    flow=row["flow"],
                    forward=row["forward"],
                    measures=(
                        Measure("CE delivered", marks, "packet"),
                        Measure("distinct values of alpha", row["alphas"], "", "many"),
                    ),
                )
            )
    return said


RULE = Rule(CODE, "alpha-stuck", "Alpha does not follow the marks.", check, __doc__)
