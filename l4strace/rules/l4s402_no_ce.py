"""A queue builds up but does not mark.

What it checks
--------------
ECN-capable senders whose packets wait in a queue without a single CE mark, where nothing shows that
the path bleached their codepoints.

Why it matters
--------------
Behind a FIFO an L4S sender has only loss as a signal: alpha never moves, the queue fills, and L4S
gives no benefit. Often the AQM that was set up is not at the bottleneck.

Evidence
--------
`bottlenecks` of kind `fifo` (losses at the full buffer), `dropping` (losses below it) and
`unmarked` (either): `queue_delay_us`, `losses`, `loss_delay_us` and `confidence`;
`directions.data_ect1` (which sender means L4S).

When it is wrong
----------------
If the losses came from elsewhere (a wireless hop) and the queue is that of a shaper whose AQM never
reached its target.

What to do
----------
Put an L4S AQM (DualPI2, fq_codel with ce_threshold) at the bottleneck, or shape below its rate so
that the queue builds up where the AQM is.

References
----------
RFC 9331 section 4; L4STeam/linux issue 32
"""

import polars as pl

from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.l4s401_bottleneck import NO_DATA
from l4strace.rules.support import clocks, datagrams, subjects
from l4strace.schema.words import NEVER_MARK
from l4strace.wording.measures import OF_ROUNDS
from l4strace.wording.quantities import at_delay, count, milliseconds

MEDIUM = 0.7
"""Confidence of a kind from which the finding has medium confidence, on the scale of
bottleneck/kinds: losses of the flow itself."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each ECN-capable direction through a queue that never marks."""
    judged = subjects.once(evidence, evidence.bottlenecks)
    if judged.is_empty():
        return datagrams.lacking(datagrams.flows(evidence), NO_DATA)
    # A queue in front of what erases the codepoints may well mark.
    silent = pl.col("kind").is_in(NEVER_MARK) & ~pl.col("erased").fill_null(False)
    unmarked = judged.filter(silent).join(
        subjects.scalable(evidence).with_columns(l4s=pl.lit(True)), on=subjects.KEY, how="left"
    )
    return clocks.measurable(evidence, [_finding(row) for row in unmarked.iter_rows(named=True)])


def _finding(row: Row) -> Finding:
    queue = milliseconds(row["queue_delay_us"] or 0.0)
    lost = count(row["losses"], "retransmission") if row["losses"] else "no retransmission"
    return Finding(
        Severity.WARNING if row["l4s"] and row["losses"] else Severity.INFO,
        _confidence(row["confidence"]),
        f"{NEVER_MARK[row['kind']]}: no packet is CE at a median queue delay of {queue}, "
        f"with {lost}{_where(row)}.",
        "Put an L4S AQM at the bottleneck, or shape so that the queue builds up where the AQM is.",
        **direction_of(row),
        measures=(
            Measure("CE", 0, "packet"),
            Measure(OF_ROUNDS, row["queue_delay_us"] or 0.0, "us", "about 1 ms behind L4S"),
            Measure("retransmissions", row["losses"] or 0, "packet"),
        ),
    )


def _confidence(value: float) -> Confidence:
    if value >= subjects.ISOLATED_CONFIDENCE:
        return Confidence.HIGH
    return Confidence.MEDIUM if value >= MEDIUM else Confidence.LOW


def _where(row: Row) -> str:
    if row["loss_delay_us"] is None:
        return ""
    return f" {at_delay(milliseconds(row['loss_delay_us']))}"


RULE = Rule.of(__name__, __doc__, check, "The queue never marks")
