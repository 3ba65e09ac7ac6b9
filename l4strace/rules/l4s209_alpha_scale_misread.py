"""Alpha in the log on the wrong scale.

What it checks
--------------
Whether a log's alpha exceeds 1, or is about sixteen times, or a sixteenth of, the alpha that the
feedback on the wire gives; whether the samples of a log contradict the width of alpha that its
header claims. Such a width is corrected.

Why it matters
--------------
Alpha 1.0 is 2^20 in some builds and 2^24 in others. A reader with the wrong unit, such as L4STeam's
`ss` (always 2^20) or a collector that does not know the build, shows 32 % where alpha is 2 %, or
0.1 %. Every conclusion from that alpha is wrong.

Evidence
--------
`kernel.alpha` against `rounds.alpha`, replayed from the feedback, and its bounds `alpha_lo` and
`alpha_hi`: it may have started at 1 or at 0. `stats` holds the widths that were overruled.

When it is wrong
----------------
If the capture lacks the marks at the start of the flow the replay differs for a while, but not by
sixteen in the median.

What to do
----------
Divide or multiply by 16, or read alpha with a collector that knows the kernel's scale.

References
----------
L4STeam/iproute2, misc/ss.c; tcp_prague.c, PRAGUE_ALPHA_BITS and prague_get_info
"""

import polars as pl

from l4strace.derive.senders import logged
from l4strace.evidence import Evidence, Row
from l4strace.fallback.samples import alphas
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects
from l4strace.schema.words import Stat

MAX_ALPHA = 1.0001
"""Alpha is at most 1 (PRAGUE_MAX_ALPHA); the rest is rounding of text."""

RATIO_LO, RATIO_HI = 10.0, 24.0
"""Around 16, the factor between builds of 20 and 24 bits: by eye, a factor of about 1.5 to each
side."""

MIN_PAIRS = 20
"""Rounds from which the median ratio is judged: by eye."""

CORRECTED = "The log's scale of alpha was corrected"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose recorded alpha has the wrong scale."""
    known = alphas(evidence)
    if known.is_empty():
        return [Skipped("no kernel log with alpha")]
    overruled = evidence.stats.filter(pl.col("name") == Stat.ALPHA_SCALE_OVERRULED)
    corrected = [_corrected(row) for row in overruled.iter_rows(named=True)]
    ratios = logged.beside_rounds(evidence).select(*subjects.DIRECTION, "replayed", "ratio")
    judged = known.join(ratios, on=subjects.DIRECTION, how="left")
    large = pl.col("ratio").is_between(RATIO_LO, RATIO_HI)
    small = pl.col("ratio").is_between(1 / RATIO_HI, 1 / RATIO_LO)
    wrong = judged.filter(
        (pl.col("alpha_max") > MAX_ALPHA) | ((pl.col("replayed") >= MIN_PAIRS) & (large | small))
    )
    return [*corrected, *(_finding(row) for row in wrong.iter_rows(named=True))]


def _corrected(row: Row) -> Finding:
    return Finding(
        Severity.INFO,
        Confidence.HIGH,
        f"{row['detail']} Alpha and score are shown with the width of the samples.",
        "Record with a collector that determines the width of alpha from its updates.",
        source=row["source"],
        headline=CORRECTED,
    )


def _finding(row: Row) -> Finding:
    beyond = row["alpha_max"] > MAX_ALPHA
    small = not beyond and row["ratio"] < 1
    if beyond:
        what = f"reaches {row['alpha_max']:.1f} although its maximum is 1"
    elif small:
        what = f"is 1/{1 / row['ratio']:.0f} of what the feedback on the wire gives"
    else:
        what = f"is {row['ratio']:.0f} times what the feedback on the wire gives"
    unit = "larger" if small else "smaller"
    measures = [Measure("largest alpha", row["alpha_max"], "", "at most 1")]
    if not beyond:
        measures.append(Measure("recorded over replayed alpha", row["ratio"], "", "about 1"))
    return Finding(
        Severity.NOTICE,
        Confidence.HIGH if beyond else Confidence.MEDIUM,
        f"The log shows alpha on the wrong scale: alpha {what}. Its reader divides by a {unit} "
        "unit than the kernel uses.",
        "Use a collector that knows the build's PRAGUE_ALPHA_BITS, or correct alpha by hand.",
        flow=row["flow"],
        forward=row["forward"],
        measures=tuple(measures),
    )


RULE = Rule.of(__name__, __doc__, check, "The log shows alpha on the wrong scale", CORRECTED)
