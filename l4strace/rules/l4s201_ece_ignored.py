"""A classic ECN sender does not respond to ECE.

What it checks
--------------
Flows that negotiated RFC 3168 ECN, whatever codepoint their data carries: whether the data in
flight falls by at least a tenth after the receiver echoes congestion (ECE), and whether the sender
answers with CWR. Without CWR the echo never ends: each round with ECE then asks for a reduction.

Why it matters
--------------
A sender that negotiates ECN and ignores the marks has an advantage over all others: its packets are
marked instead of dropped, and it does not slow down.

Evidence
--------
`cuts.fraction_hi`, `cwnd_before` and `round` of cause `ece`; `directions.cwr_packets`,
`data_ce` and `cc`; `flows.handshake`.

When it is wrong
----------------
With a few packets in flight a reduction is not visible: rounds with fewer than 8 are left out. A
flow that its application limits does not show its window. Where data arrives at the capture with
CE, the queue lies before it: senders that set CWR are not judged there. DCTCP reduces by half the
share of marked packets, not by a fixed part: where a log or a host file names it, this is a notice.

What to do
----------
Check the sender's stack; disable ECN there until it responds.

References
----------
RFC 3168 section 6.1.2; RFC 8511; RFC 8257 section 3.3 (DCTCP)
"""

import polars as pl

from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import subjects
from l4strace.schema.keys import of_round
from l4strace.wording.quantities import count

MIN_CUTS = 3
"""Echoes from which the sender is judged: by eye."""

MIN_WINDOW = 8.0
"""Packets in flight from which a halving (4 packets) is visible although the window grows by one
packet in each of the two rounds that `cuts` looks at (RFC 5681 section 3.1)."""

NO_CUT = 0.1
"""Half of the smallest reduction in use: RFC 8511 gives up a fifth, CUBIC three tenths (RFC 9438),
Reno a half (RFC 3168 section 6.1.2)."""

BEHIND = "the queue lies before this capture, and what is in flight behind it is not the window"

MAJORITY = 0.8
"""Share of the echoes without a reduction, by eye: one in five may fall together with a pause."""

ECHO_ROUNDS = 2
"""An echo lasts until CWR arrives, one round trip after the first ECE: rounds with ECE that are
this close belong to one echo."""

LONG_ECHO = 10
"""Rounds with ECE and without any CWR that are no delayed answer: RFC 3168 section 6.1.2 asks for
one within a round trip. By eye."""

SHARE_OF_MARKS = ("dctcp", "prague")
"""Controls whose law is alpha/2 (RFC 8257 section 3.3)."""

LESS = "The sender reduces by less than half at ECE"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose data in flight did not fall after most echoes."""
    cuts = subjects.once(evidence, evidence.cuts).filter(
        (pl.col("cause") == "ece") & (pl.col("cwnd_before") >= MIN_WINDOW)
    )
    if cuts.is_empty():
        return []
    begun = subjects.begun(evidence)
    cuts = cuts.join(begun, on=["source", "flow"], how="semi").sort(*subjects.KEY, "round")
    gap = pl.col("round") - of_round(-1, pl.col("round"))
    answers = evidence.directions.select(*subjects.KEY, "cwr_packets", "data_ce")
    cuts = cuts.join(answers, on=subjects.KEY, how="left", maintain_order="left")
    never = (pl.col("cwr_packets").fill_null(0) == 0) & (pl.len().over(subjects.KEY) >= LONG_ECHO)
    ignored = (
        cuts.filter((gap > ECHO_ROUNDS).fill_null(True) | never)
        .group_by(subjects.KEY, maintain_order=True)
        .agg(
            pl.len().alias("echoes"),
            (pl.col("fraction_hi") < NO_CUT).mean().alias("ignored"),
            pl.col("ts_ns").min().alias("first_ns"),
            pl.col("ts_ns").max().alias("last_ns"),
            pl.col("cwr_packets", "data_ce").first(),
        )
        .filter((pl.col("echoes") >= MIN_CUTS) & (pl.col("ignored") >= MAJORITY))
    )
    return [
        Skipped(BEHIND, row["flow"])
        if row["data_ce"] and row["cwr_packets"]
        else _finding(row, subjects.control(evidence, row["flow"], row["forward"]))
        for row in ignored.iter_rows(named=True)
    ]


def _finding(row: Row, control: str) -> Finding:
    silent = not row["cwr_packets"]
    answer = "it sent no CWR" if silent else f"it set CWR on {count(row['cwr_packets'], 'packet')}"
    ignored = round(row["ignored"] * row["echoes"])
    scalable = control in SHARE_OF_MARKS and not silent
    opening = f"The sender{f' ({control})' if control else ''} ignored ECE"
    action = "Check the sender's stack; disable ECN there until it responds."
    if scalable:
        opening = f"The sender runs {control}, which reduces by half the share of marked packets"
        action = (
            f"Use {control} where every queue is an L4S or DCTCP queue; else a classic control."
        )
    return Finding(
        Severity.NOTICE if scalable else Severity.WARNING,
        Confidence.HIGH if silent else Confidence.MEDIUM,
        f"{opening}: its data in flight fell by less than {100 * NO_CUT:.0f} % after "
        f"{ignored:,} of {row['echoes']:,} congestion echoes, and {answer}.",
        action,
        **direction_of(row),
        span_ns=(row["first_ns"], row["last_ns"]),
        headline=LESS if scalable else "",
        measures=(
            Measure("echoes without a reduction", row["ignored"], "share", "0"),
            Measure("packets with CWR", row["cwr_packets"] or 0, "packet", "one for each echo"),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "The sender ignores ECE", LESS)
