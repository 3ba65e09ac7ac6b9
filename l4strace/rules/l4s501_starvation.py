"""One flow starves beside another.

What it checks
--------------
Whether a flow direction stayed below a fifth of the rate that it and another one had together, from
some time to the end of their overlap, without its own application limiting it. A sender has what it
asks for if its rate is the same each second, or if its window does not grow although neither marks
nor losses cut it. A sender starts with ten packets: for as many round trips as it takes to double
these to half of the rate, and two more, it does not starve, unless a mark, a loss or a window that
grows no further ended that before.

Why it matters
--------------
Congestion control exists to share the path. Starvation is the usual symptom of a fallback that
misfired (Prague starves) or is missing (the classic flow starves).

Evidence
--------
`coexistence.starved_since_ns`, `starved_share`, `starved_rate_bps` and `starved_other_rate_bps`
describe the time since the starvation began; `share`, `start_ns` and `end_ns` the whole overlap;
`bottlenecks.kind` chooses the remedy.

When it is wrong
----------------
What a flow over UDP sent counts, though some of it may be lost after the capture; whether a flow
over QUIC, RTP or plain UDP has more to send is not known, so it never starves, and the confidence
is medium beside one. A share that fell late may recover: the confidence is medium where the
starvation lasted for less than half of the time that both sent. With very different RTTs a low
share can be right: the rate of classic flows goes with 1/RTT. Flows to different hosts may not
share the bottleneck.

What to do
----------
Mend the cause where a finding names one. Else compare base RTT, marks and reductions of both flows;
behind a FIFO or one classic queue the congestion controls decide the shares.

References
----------
RFC 9331 section 4.3; Sarpkaya et al., ANRW 2024 (shares with and without the fallback)
"""

import polars as pl

from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import datagrams, subjects
from l4strace.wording.quantities import quantity

LASTING = 0.5
"""Part of the overlap from which a starvation is sure to be no dip: most of it."""

COMPARE = "Compare base RTT, marks and reductions of both flows."
ACTIONS = {
    "fifo": "Compare base RTTs and congestion controls: a FIFO leaves the shares to the senders.",
    "l4s": "Compare the reductions of both flows, and the coupling of the AQM's two queues.",
    "classic": "Use congestion controls that take equal shares of one queue, or a queue per flow.",
    "shallow": "Use congestion controls that take equal shares of one queue, or a queue per flow.",
}
"""What to do behind each kind of bottleneck."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow that starves, beside the flow that leaves it the smallest share."""
    pairs = subjects.once(evidence, evidence.coexistence)
    if pairs.is_empty():
        return [Skipped("no two long flows sent over the same path at the same time")]
    worst = (
        pairs.filter(pl.col("starved_since_ns").is_not_null())
        .sort("starved_share")
        .unique(subjects.KEY, keep="first", maintain_order=True)
    )
    return [_finding(evidence, row) for row in worst.iter_rows(named=True)]


def _finding(evidence: Evidence, row: Row) -> Finding:
    own, other = (
        quantity(row[name], "bit/s") for name in ("starved_rate_bps", "starved_other_rate_bps")
    )
    since = subjects.moment(evidence, row["starved_since_ns"])
    lasted = row["end_ns"] - row["starved_since_ns"]
    fixed = datagrams.may_be_fixed(evidence, row["other_flow"])
    lasting = lasted >= LASTING * (row["end_ns"] - row["start_ns"])
    return Finding(
        Severity.WARNING,
        Confidence.HIGH if lasting and not fixed else Confidence.MEDIUM,
        f"{subjects.titled(evidence, row['flow'])} starves from {since}: {own} beside "
        f"{other} of {subjects.named(evidence, row['other_flow'])} while both send.",
        _action(evidence, row),
        **direction_of(row),
        span_ns=(row["starved_since_ns"], row["end_ns"]),
        measures=(
            Measure("share since then", row["starved_share"], "share", "half"),
            Measure("share while both send", row["share"], "share", "half"),
        ),
    )


def _action(evidence: Evidence, row: Row) -> str:
    """By what shares the queue; a fault of a sender that explains it has a finding of its own."""
    if datagrams.may_be_fixed(evidence, row["other_flow"]):
        return f"Check whether flow {row['other_flow']} responds to marks and losses."
    own = subjects.bottlenecks(evidence).filter(flow=row["flow"], forward=row["forward"])
    kinds = own["kind"].drop_nulls()
    return ACTIONS.get(kinds[0] if kinds.len() else "", COMPARE)


RULE = Rule.of(__name__, __doc__, check, "{flow} starves beside another flow")
