"""Alpha does not change although CE marks arrive.

What it checks
--------------
Flows for which the sender (a kernel, or a program over UDP with a qlog) counted CE marks in many
samples while its alpha kept one value.

Why it matters
--------------
Alpha is the sender's measure of congestion. Prague with alpha stuck at 0 ignores marks; with alpha
stuck at 1 it halves its window at each.

Evidence
--------
`kernel.alpha` and `delivered_ce`, and those of `udp_kernel`. The logs of UDP Prague and SCReAM do
not state alpha.

When it is wrong
----------------
A log that shows alpha in whole percent (`ss`) hides small changes.

What to do
----------
Check that the log reads the right field for this build; then check prague_update_alpha, or what
does the same in user space.

References
----------
L4STeam/linux issue 1 ("This will always be zero"); RFC 8257 section 3.3
"""

from l4strace.evidence import Evidence
from l4strace.fallback.samples import alphas
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped

MIN_CE = 20
"""Marks from which alpha must have changed: by eye; each update with a mark adds 1/16 of the marked
share (RFC 8257 section 3.3, PRAGUE_SHIFT_G 4)."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction with many marks and one alpha."""
    known = alphas(evidence)
    if known.is_empty():
        logged = not evidence.udp_kernel.is_empty()
        why = ": that of a sender over UDP does not state it" if logged else ""
        return [Skipped(f"no log with alpha{why}")]
    results: list[Finding | Skipped] = []
    for row in known.iter_rows(named=True):
        marks = (row["delivered_ce"] or 0) - (row["delivered_ce_first"] or 0)
        if row["alphas"] == 1 and marks >= MIN_CE:
            results.append(
                Finding(
                    Severity.WARNING,
                    Confidence.HIGH,
                    f"Alpha stayed at {row['alpha_last']:.3f} in all {row['samples']:,} samples "
                    f"while the sender counted {marks:,} packets with CE.",
                    "Check the field that the log reads, then the sender's update of alpha.",
                    flow=row["flow"],
                    forward=row["forward"],
                    measures=(
                        Measure("CE delivered", marks, "packet"),
                        Measure("distinct values of alpha", row["alphas"], "", "many"),
                    ),
                )
            )
    return results


RULE = Rule.of(__name__, __doc__, check, "Alpha does not follow the marks")
