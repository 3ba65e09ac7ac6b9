"""Queue delay rose far above its usual level for a while.

What it checks
--------------
Spikes of delay on a path: 50 ms or longer, more than 15 ms above the usual delay of a flow and more
than three times as high as it. The usual delay is the median of its round trips, or of its time
where most of the time lies so far above it. One event counts once, with all flows that it hit, and
spikes that follow each other at gaps shorter than themselves are told together. Those of slow start
are in L4S204.

Why it matters
--------------
Averages hide them. A single drop of the link rate can delay every packet of the path for seconds.

Evidence
--------
`spikes.path`, `start_ns`, `end_ns`, `height_us`, `one_way`, `usual_us`, `hit`, `lost` and `cause`.
Of a path that became slower, `phases.capacity_bps`, `capacity_shown` and `changed`. Of the flow
that caused it, `spikes.culprit` and `directions.cc`.

When it is wrong
----------------
Wireless hops retransmit and pause by themselves; such delay is not a queue that the sender filled.
From RTTs alone the height is less sure where packets were lost; where the snaplen
cut off SACK (`directions.options_cut` of the ACKs) it is a lower bound.

What to do
----------
By cause. rate-drop: expect it where the link changes its rate. new-flow: an AQM with per-flow
queues isolates. burst: fix the sender's pacing. Unknown: a link or a host that stood still holds
all packets at once, whatever the queue.

References
----------
tsvwg L4S issue 17; heistp/sce-l4s-bakeoff
"""

import polars as pl

from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import clocks, datagrams, events, subjects
from l4strace.wording.quantities import count, milliseconds

CAUSES = {
    "rate-drop": "Likely cause: the bottleneck became slower",
    "new-flow": "Likely cause: another flow started",
    "burst": "Likely cause: a burst of the sender",
    "unknown": "Its cause is unknown",
}

ACTIONS = {
    "rate-drop": "Compare with the moments at which the link changed its rate.",
    "new-flow": "Give each flow a queue of its own (fq_codel, cake), or start flows more slowly.",
    "burst": "Pace the sender, and end its slow start at the first marks.",
    "unknown": "Look at all flows at its start, and whether hosts or link stood still.",
}


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each path and cause: the highest episode, and how many spikes there are."""
    episodes = events.episodes(subjects.once(evidence, evidence.spikes))
    alike = ["path", "cause"]
    highest = (
        episodes.filter(pl.col("cause") != "slow-start")
        .with_columns(pl.col("spikes").sum().over(alike).alias("alike"))
        .unique(alike, keep="first", maintain_order=True)
    )
    found = [_finding(evidence, row) for row in highest.iter_rows(named=True)]
    unread = datagrams.unread(datagrams.flows(evidence))
    return clocks.measurable(evidence, [*found, *unread])


def _finding(evidence: Evidence, row: Row) -> Finding:
    length = row["above_ns"] / 1e9
    reached = events.height(evidence, row, row["flow"])
    lost = f" {count(row['lost'], 'packet')} retransmitted." if row["lost"] else ""
    return Finding(
        Severity.WARNING if row["above_ns"] >= events.LONG_NS else Severity.NOTICE,
        Confidence.LOW if row["cause"] == "unknown" else Confidence.MEDIUM,
        f"{_when(evidence, row)}: {reached} "
        f"(usually {milliseconds(row['usual_us'])}). {_cause(evidence, row)}."
        f"{events.others(row, row['flow'])}{lost}{_more(row)}",
        ACTIONS[row["cause"]],
        **direction_of(row),
        span_ns=(row["start_ns"], row["end_ns"]),
        frames=(row["first_frame"], row["last_frame"]),
        measures=(
            Measure("largest delay", row["height_us"], "us", "near the usual"),
            Measure("usual delay", row["usual_us"], "us"),
            Measure("length", length, "s"),
        ),
    )


def _when(evidence: Evidence, row: Row) -> str:
    """`Latency spike of 0.3 s from t=5.0 s`, or `6 latency spikes in 2.1 s from t=5.0 s`."""
    start, span = subjects.moment(evidence, row["start_ns"]), row["end_ns"] - row["start_ns"]
    one = row["spikes"] == 1
    what = "Latency spike of" if one else f"{row['spikes']:,} latency spikes in"
    return f"{what} {span / 1e9:.1f} s from {start}"


def _more(row: Row) -> str:
    """` It is the highest of 4 spikes`, where the finding does not tell of all."""
    if row["alike"] == row["spikes"]:
        return ""
    unknown = " of unknown cause" if row["cause"] == "unknown" else " with this cause"
    all_of_them = f"{row['alike']:,} spikes{unknown}"
    if row["spikes"] == 1:
        return f" It is the highest of {all_of_them}."
    return f" The highest of all {all_of_them} is among them."


def _cause(evidence: Evidence, row: Row) -> str:
    fell = events.fall(evidence, row) if row["cause"] == "rate-drop" else ""
    if fell:
        return f"Likely cause: {fell}"
    culprit = row["culprit"]
    if row["cause"] == "new-flow" and culprit is not None:
        return f"{CAUSES['new-flow']}, {subjects.named(evidence, culprit)}"
    if row["cause"] == "burst" and culprit is not None:
        full = f"{events.fills(row['fills_packets'])} the path"
        return (
            f"Likely cause: a burst of {subjects.named(evidence, culprit)} in slow start: at most "
            f"{count(row['peak_packets'], 'packet')} in flight ({full})"
        )
    whose = row["flow"] if culprit is None else culprit
    cc = subjects.control(evidence, whose, row["forward"])
    return CAUSES[row["cause"]] + (f" (flow {whose} runs {cc})" if cc else "")


RULE = Rule.of(__name__, __doc__, check, "Queue delay spiked")
