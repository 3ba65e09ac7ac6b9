"""A sender over UDP collects its marks with its own bursts.

What it checks
--------------
With captures at both ends: of each burst of three packets and more, how many of the first two and
how many of the others were marked on the way. Marks that hit the third packet and later ones, and
hardly any other packet, come from the burst itself: the queue was short when it arrived.

Why it matters
--------------
An L4S AQM marks from about a millisecond of waiting on, and three packets at once wait that long on
a slow link. The sender reduces its rate for marks that no congestion caused, and leaves part of the
link unused.

Evidence
--------
`paths.long_bursts`, `burst_heads_marked`, `burst_tails`, `burst_tails_marked` and
`burst_tail_frame`; `paths.matched`, `ect1_to_ce` and `ect0_to_ce`; `flows.transport`.

When it is wrong
----------------
The program may pace, and its host delay the timer: a loaded machine sends late packets together. A
capture before segmentation offload shows a train as one packet, and no burst. The bursts of a
tunnel are those of the flow that it carries: what runs over plain UDP is not judged.

What to do
----------
Pace to one or two packets at a time: SO_TXTIME or SO_MAX_PACING_RATE with fq below the socket, or
a finer timer in the program; smaller trains of UDP_SEGMENT.

References
----------
RFC 9331 section 4.3 (limit bursts), RFC 9002 section 7.7
"""

import polars as pl

from l4strace.evidence import Evidence, Row, traffic
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support.tried import VALIDATING
from l4strace.schema.keys import DIRECTION
from l4strace.wording.quantities import count, share

RARER = 1 / 3
"""Share of marks among all other packets, at most, as part of that of third and later ones. By eye:
picoquic on a link of 20 Mbit/s has 1/77 in the same bursts and 1/11 outside them."""
MIN_MARKS = 10
"""Marks of third and later packets: where `RARER` holds for all packets alike, ten or more in place
of 3.3 come by chance in 0.3 % of all runs (Poisson)."""
MOST_MARKS = 0.5
"""Part of all marks that fall on third and later packets, at least: they set the rate."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction that marks itself."""
    if evidence.paths.is_empty():
        return [Skipped("needs captures at both ends of the path")]
    senders = traffic(evidence).flows.filter(pl.col("transport").is_in(VALIDATING))
    marks = pl.col("ect1_to_ce") + pl.col("ect0_to_ce")
    tails = pl.col("burst_tails_marked") / pl.col("burst_tails")
    heads = pl.col("burst_heads_marked") / (2 * pl.col("long_bursts"))
    # Packets whose delay is not sure are in no burst, and may be marked.
    others = (pl.col("marks") - pl.col("burst_heads_marked") - pl.col("burst_tails_marked")) / (
        pl.col("matched") - 2 * pl.col("long_bursts") - pl.col("burst_tails")
    )
    rows = (
        evidence.paths.filter(pl.col("burst_tails_marked") >= MIN_MARKS)
        .join(senders, on="flow", how="semi")
        .with_columns(marks=marks, tails=tails, heads=heads)
        .with_columns(others=others.fill_nan(0.0))
        .filter(
            pl.max_horizontal("heads", "others") <= RARER * pl.col("tails"),
            pl.col("burst_tails_marked") >= MOST_MARKS * pl.col("marks"),
        )
    )
    return [_finding(row) for row in rows.unique(DIRECTION, maintain_order=True).to_dicts()]


def _finding(row: Row) -> Finding:
    return Finding(
        Severity.WARNING,
        Confidence.MEDIUM,
        f"The sender's own bursts are marked: in {count(row['long_bursts'], 'burst')} of three "
        f"packets and more, {share(row['tails'])} of the third and later packets are CE, "
        f"{share(row['heads'])} of the first two and {share(row['others'])} of all others "
        f"(threshold a third: {share(RARER * row['tails'])}). The queue is short when a burst "
        "arrives.",
        "Pace to one or two packets at a time (SO_TXTIME or SO_MAX_PACING_RATE with fq, a finer "
        "timer, smaller trains of UDP_SEGMENT).",
        **direction_of(row),
        frames=(row["burst_tail_frame"],),
        measures=(
            Measure("CE on third and later packets", row["burst_tails_marked"], "packet"),
            Measure("CE in all, packets at both ends", row["marks"], "packet"),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "The sender's own bursts are marked")
