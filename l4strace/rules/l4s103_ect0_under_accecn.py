"""A sender that should use L4S sends ECT(0).

What it checks
--------------
AccECN flow directions with ECT(0) data although the sender is an L4S sender: its SYN or SYN/ACK was
ECT(1), some of its data is ECT(1), or the kernel log shows Prague.

Why it matters
--------------
ECT(0) is the codepoint of classic ECN. DualPI2 puts such packets into the classic queue, with its
longer delay and rare marks, but an L4S sender expects frequent marks at a short delay.

Evidence
--------
`directions.data_ect0`, `data_ect1`, `data_not_ect` and `data_packets`; `flows.mode`, `syn_ecn` and
`synack_ecn`; `kernel.cc`. Pure ACKs do not count: an AccECN receiver may send them as ECT(0).

When it is wrong
----------------
Where no capture was taken before a re-marking node, the path and not the sender is at fault;
L4S105 reports this where the feedback shows it. CUBIC with AccECN correctly sends ECT(0) and is not
reported.

What to do
----------
Check that the socket runs Prague (`ss -tin`) and that its kernel sets ECT(1). Modules built before
the kernel's ECT(1) negotiation flag (TCP_CONG_ECT_1_NEGOTIATION) send ECT(0) on newer kernels.

References
----------
RFC 9331 section 4.1
"""

import polars as pl

from l4strace.derive.vantage import once
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.schema.keys import DIRECTION
from l4strace.schema.words import ECT1

MAX_PROBE_SHARE = 0.1
"""Share of the data packets that probes do not explain. By eye."""
MAX_PROBE_PACKETS = 10
"""Packets that probes do not explain: an initial window (RFC 6928)."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow direction.

    What the sender sent shows at the capture nearest to it: behind one, the path may re-mark.
    """
    sent = once(evidence, evidence.directions).filter(
        (pl.col("data_ect0") >= MAX_PROBE_PACKETS)
        & (pl.col("data_ect0") >= MAX_PROBE_SHARE * pl.col("data_packets"))
    )
    if sent.is_empty():
        return []
    prague = evidence.kernel["flow"].filter(evidence.kernel["cc"] == "prague").drop_nulls().unique()
    own_syn = pl.when(pl.col("forward")).then("syn_ecn").otherwise("synack_ecn")
    found = (
        sent.join(_accecn(evidence), on="flow")
        .filter(
            (own_syn == ECT1)
            | (pl.col("data_ect1") > 0)
            | (pl.col("forward") & pl.col("flow").is_in(prague.implode()))
        )
        .sort(DIRECTION)
    )
    return [_finding(row) for row in found.iter_rows(named=True)]


def _accecn(evidence: Evidence) -> pl.DataFrame:
    """Conversations with AccECN, one row each: the nearest capture may have missed the handshake.

    `syn_ecn` and `synack_ecn` are ECT(1) where a capture shows that.
    """
    syns = (
        pl.when((pl.col(name) == ECT1).any()).then(ECT1).alias(name)
        for name in ("syn_ecn", "synack_ecn")
    )
    accecn = evidence.flows.filter(pl.col("mode") == "accecn")
    return accecn.group_by("flow").agg(*syns)


def _finding(row: Row) -> Finding:
    share = row["data_ect0"] / (row["data_ect0"] + row["data_ect1"] + row["data_not_ect"])
    return Finding(
        Severity.WARNING,
        Confidence.MEDIUM,
        f"{100 * share:.0f} % of the unmarked data packets carry ECT(0) although {_sign(row)}: an "
        "L4S AQM puts them into the classic queue.",
        "Check that the socket runs Prague and that its kernel sets ECT(1).",
        **direction_of(row),
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("data packets with ECT(0)", row["data_ect0"], "", "0"),
            Measure("data packets with ECT(1)", row["data_ect1"], "", "all"),
        ),
    )


def _sign(row: Row) -> str:
    """Sign of an L4S sender."""
    packet, codepoint = ("SYN", "syn_ecn") if row["forward"] else ("SYN/ACK", "synack_ecn")
    if row[codepoint] == ECT1:
        return f"the sender's {packet} was ECT(1)"
    return "other data is ECT(1)" if row["data_ect1"] else "the kernel log shows Prague"


RULE = Rule.of(__name__, __doc__, check, "An L4S sender sends ECT(0)")
