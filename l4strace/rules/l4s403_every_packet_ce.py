"""Nearly every packet is marked CE.

What it checks
--------------
Whether at least 95 % of the data packets of a direction arrive as CE, or are reported as CE. Under
classic ECN: whether as many ACKs carry ECE although the sender answers with CWR, which ends an echo
unless that packet is CE again, and the echo goes on through as many round trips.

Why it matters
--------------
A hop that sets CE on every packet carries no information about congestion: the sender falls to its
minimum window and stays there. Whole networks have done it. Packets that are CE in the capture at
their sender have met no hop: the sender sets the field, in a TOS value, by a local rule or by its
own qdisc, behind which a capture lies. The egress of a router near the sender looks alike.

Evidence
--------
The larger of `directions.ce_segments` (what this capture saw) and `ce_fed_back_best` (what the
receiver reported), of `data_segments`; under classic ECN `ece_acks` of the packets that come back,
with `cwr_packets`, and the share of `rounds` with ECE in which no ACK lacks it. Also the queue
delay and the packets in flight of `rounds`, where `flows.vantage` is not the receiver's, and their
marks where no queue stood; whether the capture is the sender's; `flows.mode`, and
`bottlenecks.serialisation_us`: on a slow link one packet takes longer than an L4S AQM's step.

When it is wrong
----------------
An AQM marks every packet too while its queue stands above its threshold: that is a notice here,
unless packets that met no queue were marked as well. The queue is then that of other flows. A
capture at the receiver does not see that queue; the finding then has medium confidence.

What to do
----------
Find the hop (traceroute with ECN, captures on both sides) and have it fixed; disable ECN meanwhile.
For CE at the sender: look for a TOS or traffic class with both low bits set in the options of the
application and in rules of nftables and iptables, and for marks of its qdisc.

References
----------
RFC 3168 section 5; Apple developer forum thread 145130
"""

import polars as pl

from l4strace.bottleneck.signs.losses import QUEUE_US
from l4strace.derive import marked, queue_delay
from l4strace.derive.marked import EVERY_PACKET, MIN_PACKETS
from l4strace.derive.queue_delay import EMPTY_US
from l4strace.derive.vantage import at_sender
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import subjects


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction with hardly a packet that is not CE."""
    counted = evidence.directions.select(
        *subjects.KEY,
        "first_ce_frame",
        marked.packets().cast(pl.Int64).alias("marked"),
        segments=pl.col("data_segments").cast(pl.Int64),
        share=marked.share(),
        echoed=pl.lit(False),
    )
    all_ce = counted.filter(pl.col("segments") >= MIN_PACKETS, pl.col("share") >= EVERY_PACKET)
    echoes = marked.echoed(evidence).with_columns(echoed=pl.lit(True))
    echoed = echoes.join(all_ce, on=subjects.DIRECTION, how="anti")
    all_ce = pl.concat([all_ce, echoed], how="diagonal_relaxed")
    if all_ce.is_empty():
        return []
    ranked = all_ce.sort("share", descending=True)
    all_ce = ranked.unique(subjects.DIRECTION, keep="first", maintain_order=True)
    packets = subjects.bottlenecks(evidence).select(*subjects.DIRECTION, "serialisation_us")
    waits = queue_delay.waits(evidence, all_ce).drop("source")
    all_ce = all_ce.join(waits, on=subjects.DIRECTION, how="left")
    all_ce = all_ce.join(packets, on=subjects.DIRECTION, how="left")
    all_ce = all_ce.join(_left_as_ce(evidence), on=subjects.DIRECTION, how="left")
    return [_finding(row) for row in all_ce.iter_rows(named=True)]


def _left_as_ce(evidence: Evidence) -> pl.DataFrame:
    """Directions whose packets are CE already in the capture at their sender: `left` is true."""
    ends = evidence.flows.select("source", "flow", "vantage")
    all_ce = evidence.directions.filter(
        (pl.col("ce_segments") > 0)
        & (pl.col("ce_segments") >= EVERY_PACKET * pl.col("data_segments"))
    )
    there = all_ce.join(ends, on=["source", "flow"]).filter(at_sender())
    return there.select(*subjects.DIRECTION, left=pl.lit(True)).unique()


def _finding(row: Row) -> Finding:
    if row["left"]:
        return _at_the_sender(row)
    queue_us = row["timed_us"]
    standing = queue_us is not None and queue_us >= QUEUE_US and not _at_no_queue(row)
    slow = standing and (row["serialisation_us"] or 0.0) >= QUEUE_US
    return _marked(
        row,
        Severity.NOTICE if standing else Severity.WARNING,
        Confidence.MEDIUM if standing or queue_us is None else Confidence.HIGH,
        f"{_share(row)}: {_why(row, standing, slow)}.",
        _action(standing, slow),
    )


def _why(row: Row, standing: bool, slow: bool) -> str:
    queue_us = row["timed_us"]
    if queue_us is None:
        return "a hop marks every packet, or a queue stands that this capture cannot show"
    if slow:
        return (
            f"one packet takes {row['serialisation_us'] / 1000:.1f} ms on this link, longer than "
            "the step of an L4S AQM, so every packet that waits for another is marked"
        )
    if standing:
        return f"a queue stands above the AQM's threshold (median {queue_us / 1000:.1f} ms)"
    if queue_us >= QUEUE_US:
        return (
            f"a hop marks every packet, as {row['empty_marked']:,} of {row['empty_packets']:,} "
            f"that met less than {EMPTY_US / 1000:.1f} ms of queue were CE too"
        )
    return f"a hop marks every packet, as queue delay is {queue_us / 1000:.1f} ms (median)"


def _at_no_queue(row: Row) -> bool:
    """Whether packets that met no queue were marked like the rest: by no AQM, then."""
    met_none = row["empty_packets"] or 0
    return met_none >= MIN_PACKETS and row["empty_marked"] >= EVERY_PACKET * met_none


def _at_the_sender(row: Row) -> Finding:
    return _marked(
        row,
        Severity.WARNING,
        Confidence.HIGH,
        f"{_share(row)} near the sender: no hop behind this capture has marked them; the sender "
        "itself sets CE, its own queue does, or a hop before this capture.",
        "Look at the sender for a TOS or traffic class that sets both ECN bits (socket options, "
        "nftables, iptables), and for marks of its qdisc (tc -s qdisc).",
    )


def _share(row: Row) -> str:
    if row["echoed"]:
        flight = (
            "" if row["in_flight"] is None else f" and has {row['in_flight']:.0f} packets in flight"
        )
        return (
            f"{row['marked']:,} of {row['segments']:,} packets from the receiver carry ECE "
            f"although the sender answers with CWR{flight}"
        )
    return f"{row['marked']:,} of {row['segments']:,} data packets are CE"


def _marked(
    row: Row, severity: Severity, confidence: Confidence, message: str, action: str
) -> Finding:
    return Finding(
        severity,
        confidence,
        message,
        action,
        **direction_of(row),
        frames=(row["first_ce_frame"],),
        measures=(Measure("marked share", min(1.0, row["share"]), "share", "a few percent"),),
    )


def _action(standing: bool, slow: bool) -> str:
    if slow:
        return "Raise the step of the AQM above the time of two packets."
    if standing:
        return "Check the sender's response and its feedback first."
    return "Find the hop that sets CE on everything; disable ECN on this path until then."


RULE = Rule.of(__name__, __doc__, check, "Nearly every packet is CE")
