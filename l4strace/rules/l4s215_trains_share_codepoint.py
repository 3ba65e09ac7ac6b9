"""Trains over UDP are marked as a whole.

What it checks
--------------
Whether CE comes and goes only between trains: packets that arrive close together are all CE or all
ECT, although marks are mixed from train to train.

Why it matters
--------------
A node that treats a train as one packet decides once for all of it. Each decision counts as many
marks as the train is long, so alpha moves in steps and the sender reduces by more than the queue
asked for. An AQM that splits trains (`split_gso` of DualPI2) marks as few as it needs.

Evidence
--------
`directions.pairs_by_gap` and `turns_by_gap` of the capture that shows most marks;
`directions.super_packets` of any capture, which shows that the sender hands over trains;
`flows.transport`.

When it is wrong
----------------
A queue that marks everything while it is over its threshold changes its mind while a train passes
as often as at any other time: the time within trains is compared, not their packets alone. A link
that releases packets together (Wi-Fi) may mark what it releases as a whole, without segmentation
offload.

What to do
----------
Let the queue split trains (`tc qdisc change ... dualpi2 split_gso`), or switch segmentation and
receive offloads off where the mark is set (`ethtool -K DEV gso off gro off`); smaller trains of
UDP_SEGMENT at the sender.

References
----------
RFC 9331 section 4.3 (limit bursts), tc-dualpi2(8)
"""

from typing import NamedTuple

import polars as pl

from l4strace.evidence import Evidence, Row, traffic
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support.tried import VALIDATING
from l4strace.schema.keys import DIRECTION
from l4strace.wording.quantities import count, quantity

EXPECTED = 30.0
"""Turns within trains that packets marked one by one would show. By eye: a queue that marks what
arrives together alike, but for one train in ten, shows none in 5 % of such runs (Poisson, 3)."""
TOUCHING = 1 / 50
"""Turns within trains, as part of those expected, up to which trains share a codepoint: two trains
may touch. By eye."""


class Trains(NamedTuple):
    """Packets closer together than a gap, and what became of their marks."""

    gap_us: int
    pairs: int
    turns: int
    """Pairs of them of which one packet alone is CE."""
    all_turns: int
    expected: float
    """Turns that marks without regard to trains would leave among them."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction over UDP whose trains are marked as a whole."""
    known = traffic(evidence)
    senders = known.flows.filter(pl.col("transport").is_in(VALIDATING))
    merged = known.directions.group_by(DIRECTION).agg(sends_trains=pl.col("super_packets").max())
    turns = pl.col("turns_by_gap").list.sum()
    rows = (
        known.directions.filter(turns >= EXPECTED)
        .join(senders, on="flow", how="semi")
        .sort(*DIRECTION, turns, descending=[False, False, True], maintain_order=True)
        .unique(DIRECTION, keep="first", maintain_order=True)
        .join(merged, on=DIRECTION, how="left", maintain_order="left")
    )
    judged = [(row, trains(row["pairs_by_gap"], row["turns_by_gap"])) for row in rows.to_dicts()]
    return [_finding(row, found) for row, found in judged if found is not None]


def trains(pairs: list[int], turns: list[int]) -> Trains | None:
    """The widest gap within which packets share their codepoint, unless chance explains it."""
    lasted = [n * _middle_us(at) for at, n in enumerate(pairs)]
    for at in range(len(pairs) - 1, 0, -1):
        within, turned = sum(pairs[:at]), sum(turns[:at])
        part = min(within / sum(pairs), sum(lasted[:at]) / sum(lasted))
        expected = part * sum(turns)
        if expected >= EXPECTED and turned <= TOUCHING * expected:
            return Trains(1 << (at - 1), within, turned, sum(turns), expected)
    return None


def _middle_us(at: int) -> float:
    """Middle of a class of gaps: below 1 us, 1 to 2 us, 2 to 4 us and so on."""
    return 0.75 * (1 << at) if at else 0.5


def _finding(row: Row, of: Trains) -> Finding:
    who = "segmentation offload, or a link that marks what it releases at once"
    if row["sends_trains"]:
        who = "segmentation offload, as a capture shows trains as one packet"
    allowed = int(TOUCHING * of.expected)
    return Finding(
        Severity.NOTICE,
        Confidence.MEDIUM,
        f"Whole trains are CE or none of their packets: of {count(of.pairs, 'pair')} of packets "
        f"closer than {quantity(of.gap_us, 'us')}, {of.turns:,} have one packet alone CE "
        f"(threshold {allowed:,}; {of.expected:,.0f} expected of packets marked one by one), of "
        f"those farther apart {of.all_turns - of.turns:,}. A node marks a train as one packet: "
        f"{who}.",
        "Let the queue split trains (DualPI2: `split_gso`), or switch off segmentation and receive "
        "offloads where it marks; send shorter trains of UDP_SEGMENT.",
        **direction_of(row),
        span_ns=(row["first_ce_ns"], row["last_ns"]),
        frames=(row["first_ce_frame"],),
        measures=(
            Measure("changes of codepoint within trains", of.turns, "", f"at most {allowed:,}"),
            Measure("changes of codepoint in all", of.all_turns, ""),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "A node marks whole trains of packets", over_udp=True)
