"""Feedback and CE packets do not match.

What it checks
--------------
The number of CE packets in a capture at the receiver, against the bounds of what the receiver's
feedback reported: ACE counter and AccECN option of TCP, reports over UDP that are in clear, counts
of QUIC that keys open.

Why it matters
--------------
If the feedback reports fewer marks than arrived, the sender takes more than its share and fills the
queue. If it reports more, the sender slows down without need.

Evidence
--------
`directions.ce` against `ce_fed_back_lo` and `ce_fed_back_hi`, without directions that have
`super_packets` and whose ACKs have all options (`options_cut`); `flows.vantage` shows that the
capture is at the receiver; `flows.mode` and `transport`. A receiver over UDP that reports no mark
at all is L4S119.

When it is wrong
----------------
Marks whose acknowledgement was not yet sent when the capture ended are not reported; the threshold
allows for them. Receive offload merges packets and their marks (L4S003).

What to do
----------
Rule out offloads first. If the mismatch remains, compare the ACE bits at both ends. If the path
does not change them (L4S108), the receiver's stack is at fault.

References
----------
RFC 9768 section 3.2.2, RFC 9000 section 13.4.1
"""

import polars as pl

from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import datagrams
from l4strace.schema.vantage import receiver
from l4strace.wording.quantities import count

TOLERANCE = 0.02
"""Share of the marks that may differ: those of the last round trip. By eye."""
CUT = "the snapshot length cut the ACKs' options, so turns of the three-bit counter are not seen"
COMPARE = "Rule out offloads, then compare the ACE bits at both ends."
COUNT = "Rule out offloads, then look at how the receiver counts the ECN field."
MAX_STRAY_MARKS = 8
"""Marks that may differ in any flow: one turn of the three-bit counter (RFC 9768 section 3.2.2)."""

READ = (
    *("forward", "first_ns", "last_ns", "super_packets"),
    *("ce", "ce_fed_back_lo", "ce_fed_back_hi"),
)
"""Columns of `directions` that the rule and its finding need."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow direction captured at its receiver."""
    keys = ["source", "flow"]
    counted = evidence.directions.select(*keys, *READ).filter(
        evidence.directions["ce_fed_back_hi"].is_not_null()
    )
    counts_marks = (pl.col("mode") == "accecn") | (pl.col("transport") != "tcp")
    counting = evidence.flows.filter(counts_marks).select(*keys, "vantage", "transport")
    judged = (
        counted.join(counting, on=keys, maintain_order="left")
        .join(_feedback_cut(evidence), on=[*keys, "forward"], how="left")
        .with_columns(
            far=pl.col("vantage") == receiver(),
            turns_hidden=pl.col("turns_hidden").fill_null(False),
        )
    )
    unread = datagrams.unread(datagrams.capable(evidence))
    if judged.height and not judged["far"].any():
        return [Skipped("no capture at a receiver: the marks that arrived are unknown"), *unread]
    blind = judged.filter(pl.col("far") & pl.col("turns_hidden"))
    judged = judged.filter(~pl.col("turns_hidden"))
    slack = pl.max_horizontal(pl.lit(MAX_STRAY_MARKS), TOLERANCE * pl.col("ce"))
    rows = judged.filter(
        pl.col("far")
        & (pl.col("super_packets") == 0)
        & ((pl.col("transport") == "tcp") | (pl.col("ce_fed_back_hi") > 0))
        & (
            (pl.col("ce") > pl.col("ce_fed_back_hi") + slack)
            | (pl.col("ce") + slack < pl.col("ce_fed_back_lo"))
        )
    )
    return [
        *(_finding(row) for row in rows.iter_rows(named=True)),
        *(Skipped(CUT, flow) for flow in blind["flow"].unique(maintain_order=True)),
        *unread,
    ]


def _feedback_cut(evidence: Evidence) -> pl.DataFrame:
    """Directions whose ACKs lost their options to the snapshot length, by the direction of data."""
    cut = evidence.directions["options_cut"] > 0
    return (
        evidence.directions.select("source", "flow", "forward")
        .filter(cut)
        .select("source", "flow", ~pl.col("forward"), turns_hidden=pl.lit(value=True))
    )


def _finding(row: Row) -> Finding:
    low, high = row["ce_fed_back_lo"], row["ce_fed_back_hi"]
    reported = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return Finding(
        Severity.WARNING,
        Confidence.MEDIUM,
        f"{count(row['ce'], 'packet')} arrived with CE, but the receiver's feedback "
        f"reported {reported}.",
        COMPARE if row["transport"] == "tcp" else COUNT,
        **direction_of(row),
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("CE packets arrived", row["ce"]),
            Measure("CE packets reported", reported, "", f"{row['ce']:,}"),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "Feedback and CE packets do not match")
