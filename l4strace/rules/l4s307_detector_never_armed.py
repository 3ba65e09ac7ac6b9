"""Prague's detector never ran because the flow received no CE mark.

What it checks
--------------
Whether the kernel saw no CE on a flow in its whole log, so that `classic_ecn` stayed at 0 and alpha
at its initial value.

Why it matters
--------------
The score of 0 then does not describe the AQM, and an alpha of 1.0 does not describe congestion:
both are initial values and not measurements.

Evidence
--------
`kernel.saw_ce`, `delivered_ce`, `classic_ecn` and `alpha`.

When it is wrong
----------------
If the log covers only a part of the flow, one without marks.

What to do
----------
Find out why nothing was marked: a FIFO, codepoints that the path bleached (L4S104), or no queue on
this path.

References
----------
tcp_prague.c, prague_update_alpha and prague_classic_ecn_detection (`saw_ce`)
"""

from __future__ import annotations

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support.fallback_states import samples

CODE = "L4S307"
MIN_SAMPLES = 100
"""Samples below which a socket is not worth a finding: by eye; the control connection of a test
tool has some ten ACKs."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose score could not move."""
    known = samples(evidence).filter(pl.col("score_max").is_not_null())
    if known.is_empty():
        return [Skipped(CODE, "no kernel log with Prague's score")]
    unmarked = (~pl.col("saw_ce")).fill_null(True) & (pl.col("delivered_ce").fill_null(0) == 0)
    recorded = pl.col("saw_ce").is_not_null() | pl.col("delivered_ce").is_not_null()
    idle = known.filter(
        unmarked & recorded & (pl.col("score_max") == 0) & (pl.col("samples") >= MIN_SAMPLES)
    )
    return [
        Finding(
            CODE,
            Severity.NOTICE,
            Confidence.HIGH,
            "Prague's detector never ran because the log shows no CE mark: the score of 0 and the "
            f"alpha of {row['alpha_last']:.2f} are initial values, not measurements.",
            "Find out why nothing was marked: a FIFO, bleached codepoints, or no queue.",
            flow=row["flow"],
            forward=row["forward"],
            measures=(
                Measure("CE delivered", row["delivered_ce"] or 0, "packet"),
                Measure("alpha", row["alpha_last"]),
                Measure("samples", row["samples"]),
            ),
        )
        for row in idle.iter_rows(named=True)
    ]


RULE = Rule(CODE, "detector-never-armed", "No CE, so the detector never ran.", check, __doc__)
