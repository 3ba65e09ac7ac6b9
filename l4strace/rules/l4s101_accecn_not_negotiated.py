"""The client asked for AccECN and did not get it.

What it checks
--------------
Flows whose SYN asked for Accurate ECN (AE, CWR and ECE all set) and that ended up with classic ECN
or none, and by whose doing: the server's answer, a broken server or path, or the client itself
after lost SYNs.

Why it matters
--------------
L4S needs feedback of how much was marked (RFC 9331 section 4.2). Without AccECN a sender must not
use ECT(1): Prague switches to a Reno-like controller, sends Not-ECT and shares the classic queue.

Evidence
--------
`flows.syn_ace`, `syn_retry_ace`, `synack_ace`, `mode`. The SYN's own codepoint tells whether L4S
was meant: a sender that negotiates for L4S sends its SYN with ECT(1).

When it is wrong
----------------
A middlebox that clears AE on the SYN makes an AccECN server answer like a classic one. Only a
capture at the server's end tells the two apart.

What to do
----------
Set `net.ipv4.tcp_ecn=3` on the server (4 or 5 where it only answers; Linux 6.18 or newer). If the
server has it, capture there and compare the flags of the SYN.

References
----------
RFC 9768 section 3.1 (table 2), RFC 9331 section 4.2
"""

from typing import Any

import polars as pl

from l4strace.derive.vantage import first
from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped

CODE = "L4S101"
REQUEST = 0b111
ANSWERS = {
    0b000: ("the server answered without ECN (ACE 000)", Confidence.HIGH),
    0b001: ("the server answered with classic ECN only (ACE 001)", Confidence.HIGH),
    0b101: ("the server answered with classic ECN or the old nonce (ACE 101)", Confidence.HIGH),
    0b111: ("the server or the path reflected the flags of the SYN (ACE 111)", Confidence.HIGH),
}
"""RFC 9768 table 2 for a SYN with 111."""
ECT1 = 1
L4S_CONTROLS = ("prague", "prague-reno", "bbr3", "bbr2")


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each conversation that was refused AccECN."""
    refused = evidence.flows.filter(
        (pl.col("syn_ace") == REQUEST) & pl.col("mode").is_in(["classic", "none"])
    ).with_columns(forward=True)
    refused = first(evidence, refused).drop("forward")
    senders = set(evidence.kernel.filter(pl.col("cc").is_in(L4S_CONTROLS))["flow"].drop_nulls())
    data = (
        evidence.directions.filter("forward")
        .group_by("flow")
        .agg(pl.col("data_packets").sum(), pl.col("data_not_ect").sum())
    )
    return [
        _finding(row, row["flow"] in senders)
        for row in refused.join(data, on="flow", how="left").iter_rows(named=True)
    ]


def _finding(row: dict[str, Any], prague: bool) -> Finding:
    meant = prague or row["syn_ecn"] == ECT1
    why, confidence = _by_whom(row)
    plain = row["mode"] == "none" or 2 * (row["data_not_ect"] or 0) > (row["data_packets"] or 0)
    became = "the client's data is Not-ECT" if plain else "the flow has classic ECN"
    l4s = " The SYN was ECT(1): L4S was meant, and this flow cannot be L4S." if meant else ""
    return Finding(
        CODE,
        Severity.ERROR if meant else Severity.NOTICE,
        confidence,
        f"AccECN was asked for and not negotiated, {why}: {became}.{l4s}",
        "Set net.ipv4.tcp_ecn=3 on the server; if it is set, compare the SYN's flags there.",
        source=row["source"],
        flow=row["flow"],
        frames=tuple(f for f in (row["syn_frame"], row["synack_frame"]) if f is not None),
        measures=(
            Measure("ACE of the SYN", f"{REQUEST:03b}"),
            Measure("ACE of the SYN/ACK", _bits(row["synack_ace"]), "", "010, 011, 100 or 110"),
        ),
    )


def _by_whom(row: dict[str, Any]) -> tuple[str, Confidence]:
    if row["syn_retry_ace"] == 0:
        return (
            f"the client gave ECN up itself after {row['syn_count']} SYNs (lost, or dropped for "
            "their flags)",
            Confidence.HIGH,
        )
    return ANSWERS.get(
        row["synack_ace"], (row["mode_reason"] or "for no visible reason", Confidence.MEDIUM)
    )


def _bits(ace: int | None) -> str:
    return "-" if ace is None else f"{ace:03b}"


RULE = Rule(CODE, "accecn-not-negotiated", "AccECN was asked for and refused.", check, __doc__)
