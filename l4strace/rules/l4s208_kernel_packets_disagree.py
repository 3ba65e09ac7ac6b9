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

from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import datagrams, subjects
from l4strace.schema.vantage import receiver
from l4strace.wording.quantities import count

TOLERANCE, TOLERATED = 0.05, 8
"""Marks of the last round trip may be missing on either side: 5 % by eye, and at least one turn of
the 3-bit counter (RFC 9768 section 3.2.2)."""

MIN_SAMPLES = 20
"""Samples from which a log counts: by eye; single ones may hold another socket's contents."""

MIN_ROUNDS = 50
"""Rounds from which the median difference is judged: by eye."""

FRESH_NS = 100_000_000
"""Age up to which a sample stands for a round: by eye, some round trips."""

CWND_ERROR = 0.25
"""Median relative difference: by eye, five times the error of the estimate in steady rounds."""

ROUND = (*subjects.KEY, "start_ns", "end_ns", "ce_lo", "ce_hi")
"""What is compared of a round."""

NO_LOG = "no log of a sender whose feedback the capture shows"
"""Why nothing is compared."""

KERNEL, PROGRAM = "Kernel", "The sender's log"
HEADLINES = {
    KERNEL: "Kernel and packets disagree",
    PROGRAM: "The sender's log and packets disagree",
}


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction and disagreement."""
    # The widest table: only what is compared is copied.
    needed = (*subjects.DIRECTION, "ts_ns", "delivered_ce", "snd_cwnd")
    samples = pl.concat([log.select(needed) for log in (evidence.kernel, evidence.udp_kernel)])
    if samples.is_empty():
        return [Skipped(NO_LOG)]
    arrived = _arrived(evidence)
    shown = pl.concat([evidence.directions["flow"], arrived["flow"]]).unique()
    joined = samples.filter(pl.col("flow").is_in(shown.implode()))
    if joined.is_empty() or (evidence.rounds.is_empty() and arrived.is_empty()):
        hidden = datagrams.flows(evidence).join(samples, on="flow", how="semi")
        return datagrams.lacking(hidden, NO_LOG)
    in_kernel = set(evidence.kernel["flow"].unique())

    def who(row: Row) -> str:
        return KERNEL if row["flow"] in in_kernel else PROGRAM

    marks = _ce(evidence, arrived, joined).to_dicts()
    windows = _cwnd(evidence, joined).to_dicts()
    return [
        *(_ce_finding(row, who(row)) for row in marks),
        *(_cwnd_finding(row, who(row)) for row in windows),
    ]


def _arrived(evidence: Evidence) -> pl.DataFrame:
    """CE of each round as it reached the receiver, of flows whose feedback is not read."""
    places = evidence.udp_flows.select("source", "flow", "vantage")
    slots = evidence.udp_rounds.join(places, on=["source", "flow"], maintain_order="left")
    here = slots.filter(pl.col("vantage") == receiver())
    return here.with_columns(ce_lo="ce", ce_hi="ce").select(ROUND, arrived=True)


def _ce(evidence: Evidence, arrived: pl.DataFrame, joined: pl.DataFrame) -> pl.DataFrame:
    """Directions whose counters disagree over the rounds that both log and capture show."""
    counted = _counted(joined)
    span = counted.group_by(subjects.DIRECTION).agg(
        pl.col("ts_ns").min().alias("from_ns"),
        pl.col("ts_ns").max().alias("to_ns"),
        pl.len().alias("samples"),
    )
    fed_back = evidence.directions.filter(pl.col("ce_fed_back_lo").is_not_null())
    read = subjects.rounds(evidence).join(fed_back, on=subjects.KEY, how="semi")
    rounds = (
        pl.concat([read.select(ROUND, arrived=False), arrived])
        .join(span.filter(pl.col("samples") >= MIN_SAMPLES), on=subjects.DIRECTION)
        .filter((pl.col("start_ns") >= pl.col("from_ns")) & (pl.col("end_ns") <= pl.col("to_ns")))
    )
    common = rounds.group_by(subjects.KEY).agg(
        pl.col("arrived").any(),
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
        pl.col("ce_lo").sum().cast(pl.Int64).alias("low"),
        pl.col("ce_hi").sum().cast(pl.Int64).alias("high"),
        # Marks of the rounds at both ends may lie on either side of the sample.
        (2 * pl.col("ce_hi").max().cast(pl.Int64)).alias("edge"),
    )
    first, last = _at(common, counted, "start_ns"), _at(common, counted, "end_ns")
    judged = common.with_columns(delivered_ce=last - first).drop_nulls("delivered_ce")
    ce = pl.col("delivered_ce")
    slack = pl.max_horizontal((ce * TOLERANCE).cast(pl.Int64), pl.lit(TOLERATED), "edge")
    return judged.filter((ce + slack < pl.col("low")) | (ce - slack > pl.col("high")))


def _counted(joined: pl.DataFrame) -> pl.DataFrame:
    """Samples of the counter, without those that later ones prove wrong: it never falls."""
    counted = joined.drop_nulls("delivered_ce").sort("ts_ns")
    later = pl.col("delivered_ce").reverse().cum_min().reverse().over(subjects.DIRECTION)
    return counted.filter(pl.col("delivered_ce") <= later).select(
        *subjects.DIRECTION, "ts_ns", pl.col("delivered_ce").cast(pl.Int64)
    )


def _at(common: pl.DataFrame, counted: pl.DataFrame, time: str) -> pl.Series:
    """The counter at ``time`` of each row of ``common``, as the last sample before it shows."""
    numbered = common.select(*subjects.DIRECTION, time).with_row_index("row").sort(time)
    found = numbered.join_asof(
        counted, left_on=time, right_on="ts_ns", by=list(subjects.DIRECTION), check_sortedness=False
    )
    return found.sort("row")["delivered_ce"]


def _cwnd(evidence: Evidence, joined: pl.DataFrame) -> pl.DataFrame:
    """Median relative difference of what is in flight to the kernel's window, over rounds."""
    windows = joined.filter(pl.col("snd_cwnd") > 0).select(*subjects.DIRECTION, "ts_ns", "snd_cwnd")
    needed = (*subjects.KEY, "end_ns", "limited_by", "inflight_max_packets")
    rounds = subjects.rounds(evidence).select(needed).filter(pl.col("limited_by") == "cwnd")
    paired = rounds.sort("end_ns").join_asof(
        windows.sort("ts_ns"),
        left_on="end_ns",
        right_on="ts_ns",
        by=list(subjects.DIRECTION),
        check_sortedness=False,
        tolerance=FRESH_NS,
    )
    # Less in flight than the window allows: pacing or the application limits the sender.
    flight, window = (pl.col(n).cast(pl.Float64) for n in ("inflight_max_packets", "snd_cwnd"))
    error = (flight - window) / window
    return (
        paired.drop_nulls("snd_cwnd")
        .group_by(subjects.KEY)
        .agg(
            pl.len().alias("rounds"),
            error.median().alias("error"),
            pl.col("inflight_max_packets").median(),
            pl.col("snd_cwnd").median(),
        )
        .filter((pl.col("rounds") >= MIN_ROUNDS) & (pl.col("error") > CWND_ERROR))
    )


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
        f"{count(round(row['snd_cwnd']), 'packet')}, that of the packets in flight "
        f"{row['inflight_max_packets']:,.0f}.",
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
