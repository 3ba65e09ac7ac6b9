"""The log of a sender and the packets disagree.

What it checks
--------------
The CE marks that the kernel counted (delivered_ce), or a program over UDP, against the bounds that
the feedback on the wire allows, both over the time that log and capture share; where encryption
hides the feedback, against the CE packets in a capture at the receiver; and whether more packets
are in flight than the sender's window allows.

Why it matters
--------------
If the two disagree, the log belongs to another flow, or the capture lost packets, or the sender
misreads its feedback: the last is a bug that no other check finds.

Evidence
--------
`kernel.delivered_ce` and `snd_cwnd`, and those of `udp_kernel`; `rounds.ce_lo`, `ce_hi`,
`inflight_max_packets` and `limited_by`; `directions.ce_fed_back_lo` (which directions have
counters); `udp_rounds.ce` of `udp_flows`, whose feedback is not read, and `flows.vantage`. The
window of media (SCReAM) is not compared, as it may be exceeded by design.

When it is wrong
----------------
With offloads a packet of the capture is several of the kernel's: compare only without them.

What to do
----------
Check the join of log and capture (L4S009) and capture drops (L4S002) first.

References
----------
RFC 9768 section 3.2.2.5 (safety against ACE ambiguity)
"""

import polars as pl

from l4strace.derive.senders import logged
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import datagrams, subjects
from l4strace.wording.quantities import count

TOLERANCE, TOLERATED = 0.05, 8
"""Marks of the last round trip may be missing on either side: 5 % by eye, and at least one turn of
the 3-bit counter (RFC 9768 section 3.2.2)."""

MIN_SAMPLES = 20
"""Samples from which a log counts: by eye; single ones may hold another socket's contents."""

MIN_ROUNDS = 50
"""Rounds from which the median difference is judged: by eye."""

CWND_ERROR = 0.25
"""Median relative difference: by eye, five times the error of the estimate in steady rounds."""

NO_LOG = "no log of a sender whose feedback the capture shows"
"""Why nothing is compared."""

KERNEL, PROGRAM = "Kernel", "The sender's log"
HEADLINES = {
    KERNEL: "Kernel and packets disagree",
    PROGRAM: "The sender's log and packets disagree",
}


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction and disagreement."""
    samples = pl.concat([log.select("flow") for log in (evidence.kernel, evidence.udp_kernel)])
    if samples.is_empty():
        return [Skipped(NO_LOG)]
    read, arrived = logged.beside_rounds(evidence), logged.beside_arrivals(evidence)
    shown = pl.concat([evidence.directions["flow"], arrived["flow"]]).unique()
    joined = samples.filter(pl.col("flow").is_in(shown.implode()))
    if joined.is_empty() or (read.is_empty() and arrived.is_empty()):
        hidden = datagrams.flows(evidence).join(samples, on="flow", how="semi")
        return datagrams.lacking(hidden, NO_LOG)
    in_kernel = set(evidence.kernel["flow"].unique())

    def who(row: Row) -> str:
        return KERNEL if row["flow"] in in_kernel else PROGRAM

    # Less in flight than the window allows: pacing or the application limits the sender.
    windows = read.filter(pl.col("limited") >= MIN_ROUNDS, pl.col("error") > CWND_ERROR)
    return [
        *(_ce_finding(row, who(row)) for row in _ce(evidence, read, arrived).to_dicts()),
        *(_cwnd_finding(row, who(row)) for row in windows.to_dicts()),
    ]


def _ce(evidence: Evidence, read: pl.DataFrame, arrived: pl.DataFrame) -> pl.DataFrame:
    """Directions whose counters disagree over the rounds that both log and capture show."""
    fed_back = evidence.directions.filter(pl.col("ce_fed_back_lo").is_not_null())
    read = read.join(fed_back, on=subjects.KEY, how="semi").with_columns(arrived=False)
    counted = pl.concat([read, arrived.with_columns(arrived=True)])
    ce = pl.col("delivered_ce")
    # Marks of the rounds at both ends may lie on either side of the sample.
    edge = 2 * pl.col("most").cast(pl.Int64)
    slack = pl.max_horizontal((ce * TOLERANCE).cast(pl.Int64), pl.lit(TOLERATED), edge)
    apart = (ce + slack < pl.col("low")) | (ce - slack > pl.col("high"))
    return counted.filter(pl.col("samples") >= MIN_SAMPLES, apart)


def _ce_finding(row: Row, who: str) -> Finding:
    low, high = row["low"], row["high"]
    bounds = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    shown = f"the feedback on the wire in the same time allows {bounds}"
    if row["arrived"]:
        shown = f"in the same time {count(low, 'packet')} arrived with CE"
    return Finding(
        Severity.NOTICE,
        Confidence.MEDIUM,
        f"{who} and packets disagree on CE: delivered_ce grew by {row['delivered_ce']:,}, but "
        f"{shown}.",
        "Rule out a log of another run, and packets that the capture dropped.",
        **direction_of(row),
        measures=(Measure("delivered_ce", row["delivered_ce"], "packet", bounds),),
        headline=HEADLINES[who],
    )


def _cwnd_finding(row: Row, who: str) -> Finding:
    return Finding(
        Severity.NOTICE,
        Confidence.LOW,
        f"{who} and packets disagree on the window: the median of snd_cwnd is "
        f"{count(round(row['window']), 'packet')}, that of the packets in flight "
        f"{row['in_flight']:,.0f}.",
        "Rule out a log of another run, then look at what else limits the sender.",
        **direction_of(row),
        measures=(
            Measure(
                "median difference", row["error"], "share", f"at most {100 * CWND_ERROR:.0f} %"
            ),
        ),
        headline=HEADLINES[who],
    )


RULE = Rule.of(__name__, __doc__, check, *HEADLINES.values())
