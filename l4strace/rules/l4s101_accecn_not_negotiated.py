"""AccECN was requested and refused.

What it checks
--------------
Flows whose SYN requested Accurate ECN (AE, CWR and ECE all set) and that use classic ECN or no ECN
after the handshake; flows whose SYN requested classic ECN and was repeated without. The rule names
who gave up: the server in its answer or in a repeated SYN/ACK, a broken server or path, or the
client after lost SYNs. Also flows that negotiated AccECN and whose server then saw the final ACK
with ACE 000, after which it must not send ECT. Where a capture began after the handshake, data that
is Not-ECT although the kernel log shows Prague. A kernel log alone shows it where Prague calls
itself `prague-reno`.

Why it matters
--------------
L4S needs feedback on the extent of CE marking (RFC 9331 section 4.2). Without AccECN a sender must
not use ECT(1): Prague switches to a Reno-like controller, sends Not-ECT and shares the classic
queue.

Evidence
--------
`flows.syn_ace`, `syn_count`, `syn_retry_ace`, `synack_ace`, `synack_count`, `simultaneous_open`,
`final_ack_ace`, `vantage`, `mode` and `mode_reason`; `directions.data_not_ect`
against `data_packets`. `flows.syn_ecn` and `kernel.cc` show whether L4S was intended: an
L4S sender sends its SYN with ECT(1).

When it is wrong
----------------
If a middlebox clears AE on the SYN, an AccECN server answers like a classic one. Only a capture at
the server distinguishes the two.

What to do
----------
Where a plain SYN is answered after SYNs with ECN flags that were not, look for a firewall first.
Set `net.ipv4.tcp_ecn=3` on the server (4 or 5 where it only accepts connections; Linux 7.0 or an
L4S kernel: 6.18 refuses it). If the server has this setting, capture there and compare the flags of
the SYN.

References
----------
RFC 9768 sections 3.1.1 (table 2), 3.1.3 and 3.2.2.1, RFC 9331 section 4.2
"""

import polars as pl

from l4strace.derive.vantage import first
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.schema.words import ACCECN_REQUEST, ECT1, PRAGUE, PRAGUE_AS_RENO
from l4strace.wording.quantities import count

SERVER = (
    "Set net.ipv4.tcp_ecn=3 on the server (Linux 7.0 or an L4S kernel). If it is set, capture "
    "there and compare the flags of the SYN."
)
CLASSIC_REQUEST = 0b011
"""CWR and ECE: the request for classic ECN (RFC 3168 section 6.1.1)."""
FIREWALL = (
    "Look for a firewall that drops SYNs with ECN flags (capture on both sides of it). If none "
    "does, set net.ipv4.tcp_ecn=3 on the server."
)
SERVER_GAVE_UP = (0b000, 0b001)
"""ACE of a repeated SYN/ACK of a server that no longer offers AccECN."""
ANSWERS = {
    0b000: ("the server answered without ECN (ACE 000)", Confidence.HIGH),
    0b001: ("the server answered with classic ECN only (ACE 001)", Confidence.HIGH),
    0b101: (
        "the client took the reserved code ACE 101 of the SYN/ACK for classic ECN, although it "
        "accepts AccECN (RFC 9768 section 3.1.3)",
        Confidence.HIGH,
    ),
    0b111: ("the server or the path copied the flags of the SYN (ACE 111)", Confidence.HIGH),
}
"""Answers to a SYN with ACE 111 that do not accept AccECN (RFC 9768 section 3.1.1, table 2)."""
GAVE_UP = {0b000: "no ECN", 0b011: "classic ECN"}
"""ACE of a repeated SYN of a client that no longer requests AccECN -> what it falls back to."""
UNANSWERED = "no SYN/ACK answers the SYN that requested AccECN"
NO_HANDSHAKE = "no handshake packet shows whether AccECN was requested"
MIN_PACKETS = 10
"""Data packets without ECT that are no accident: Prague retransmits as Not-ECT, and one window has
ten packets (RFC 6928)."""
REFUSED = "AccECN was requested, but not negotiated"
UNUSABLE = "A Prague sender has no working AccECN"
AS_RENO = "Prague runs as Reno: AccECN was not negotiated"
CLASSIC_REFUSED = "Classic ECN was requested, but not negotiated"
FINAL_ACK = "The handshake's final ACK carries no AccECN"
L4S_CONTROLS = (*PRAGUE, "bbr3", "bbr2")


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each conversation without the AccECN that its client requested."""
    requested = pl.col("syn_ace") == ACCECN_REQUEST
    refused = _shown(evidence, requested & pl.col("mode").is_in(["classic", "none"]))
    classic = (pl.col("syn_ace") == CLASSIC_REQUEST) & (pl.col("syn_retry_ace") == 0)
    dropped = _shown(evidence, classic & pl.col("synack_ace").is_not_null())
    bleached = _shown(evidence, (pl.col("mode") == "accecn") & (pl.col("final_ack_ace") == 0))
    late = _late(evidence)
    controls: dict[int, str] = {}
    if refused.height or late.height:
        controls = _controls(evidence)
        data = (
            evidence.directions.filter("forward")
            .group_by("flow")
            .agg(pl.col("data_packets").sum(), pl.col("data_not_ect").sum())
        )
        refused = refused.join(data, on="flow", how="left")
        late = late.join(data, on="flow", maintain_order="left").filter(
            pl.col("data_packets") >= MIN_PACKETS
        )
    return [
        *(_finding(row, controls.get(row["flow"])) for row in refused.iter_rows(named=True)),
        *(_classic_dropped(row) for row in dropped.iter_rows(named=True)),
        *(_final_ack(row) for row in bleached.iter_rows(named=True)),
        *(Skipped(UNANSWERED, flow) for flow in _unanswered(evidence)),
        *(_without_handshake(row, controls.get(row["flow"])) for row in late.iter_rows(named=True)),
        *(_as_reno(flow) for flow in _logged_as_reno(evidence)),
    ]


def _shown(evidence: Evidence, what: pl.Expr) -> pl.DataFrame:
    """Flows of which a capture shows it, as the one nearest to the client did."""
    rows = evidence.flows.filter(what)
    return first(evidence, rows.with_columns(forward=True)).drop("forward") if rows.height else rows


def _controls(evidence: Evidence) -> dict[int, str]:
    """The first L4S congestion control that the log shows of each flow."""
    senders = evidence.kernel.select("flow", "cc").filter(
        pl.col("cc").is_in(L4S_CONTROLS) & pl.col("flow").is_not_null()
    )
    return dict(senders.unique("flow", keep="first").iter_rows())


def _late(evidence: Evidence) -> pl.DataFrame:
    """Flows of which no capture shows a handshake packet, nor their ECN mode by other packets."""
    bare = pl.col("syn_ace").is_null() & pl.col("synack_ace").is_null()
    if evidence.flows.filter(bare & (pl.col("mode") == "unknown")).is_empty():
        return evidence.flows.clear()
    unknown = evidence.flows.group_by("flow", maintain_order=True).agg(
        pl.col("source").first(), (bare & (pl.col("mode") == "unknown")).all().alias("late")
    )
    return unknown.filter("late")


def _without_handshake(row: Row, control: str | None) -> Finding | Skipped:
    """Prague with AccECN sends ECT(1): Not-ECT throughout shows that it has none."""
    packets = row["data_packets"]
    if control not in PRAGUE or row["data_not_ect"] != packets:
        return Skipped(NO_HANDSHAKE, row["flow"])
    return Finding(
        Severity.ERROR,
        Confidence.MEDIUM,
        f"The kernel log shows {control} for this flow, but all of its {packets:,} data packets "
        "are Not-ECT: it has no working AccECN, and L4S cannot be used. The capture began after "
        "the handshake, which would show who refused it.",
        "Capture from before the connection starts. Set net.ipv4.tcp_ecn=3 on the server (Linux "
        "7.0 or an L4S kernel).",
        source=row["source"],
        flow=row["flow"],
        headline=UNUSABLE,
        measures=(Measure("data packets that are Not-ECT", packets, "packet", "0 with AccECN"),),
    )


def _logged_as_reno(evidence: Evidence) -> list[int]:
    """Flows that no capture shows, with Prague as Reno in their last sample."""
    logged = evidence.kernel.filter(pl.col("cc").is_not_null() & pl.col("flow").is_not_null())
    last = logged.group_by("flow").agg(pl.col("cc").sort_by("ts_ns").last())
    seen = evidence.flows.filter(pl.col("mode") != "unknown")
    alone = last.join(evidence.directions, on="flow", how="anti").join(seen, on="flow", how="anti")
    flows: list[int] = alone.filter(pl.col("cc") == PRAGUE_AS_RENO).sort("flow")["flow"].to_list()
    return flows


def _as_reno(flow: int) -> Finding:
    return Finding(
        Severity.ERROR,
        Confidence.HIGH,
        "Prague runs as Reno, as the kernel log shows (prague-reno): AccECN was not negotiated, "
        "and L4S cannot be used.",
        "Set net.ipv4.tcp_ecn=3 on both hosts (Linux 7.0 or an L4S kernel). A capture of the "
        "handshake shows who refused it.",
        flow=flow,
        headline=AS_RENO,
        measures=(Measure("congestion control", PRAGUE_AS_RENO, "", "prague"),),
    )


def _classic_dropped(row: Row) -> Finding:
    return Finding(
        Severity.NOTICE,
        Confidence.MEDIUM,
        f"The client requested classic ECN, but {_gave_up(row)}: the flow uses no ECN.",
        "Look for a firewall that drops SYNs with ECN flags (capture on both sides of it).",
        source=row["source"],
        flow=row["flow"],
        headline=CLASSIC_REFUSED,
        frames=(row["syn_frame"], row["synack_frame"]),
        measures=(Measure("SYNs", row["syn_count"], "packet", "1"),),
    )


def _final_ack(row: Row) -> Finding:
    """A server that gets ACE 000 here cannot trust the feedback of its own data."""
    sent = row["vantage"] == "client"
    what = "left the client" if sent else "reached this capture"
    return Finding(
        Severity.WARNING,
        Confidence.HIGH if row["vantage"] != "unknown" else Confidence.MEDIUM,
        f"AccECN was negotiated, but the final ACK of the handshake {what} with ACE 000: the "
        "server must not send ECT in this connection.",
        "Capture at the other end and compare the flags of this ACK: the client's stack is at "
        "fault if it sent them as 0, else the path.",
        source=row["source"],
        flow=row["flow"],
        headline=FINAL_ACK,
        frames=(row["synack_frame"], row["final_ack_frame"]),
        measures=(Measure("ACE of the final ACK", "000", "", "010, 011, 100 or 110"),),
    )


def _unanswered(evidence: Evidence) -> list[int]:
    """Flows that requested AccECN and of which no capture shows an answer."""
    asked = evidence.flows.filter(pl.col("syn_ace") == ACCECN_REQUEST)
    unanswered = pl.col("synack_ace").is_null() & (pl.col("mode") == "unknown")
    if asked.filter(unanswered).is_empty():
        return []
    silent = asked.group_by("flow").agg(unanswered.all().alias("silent"))
    return silent.filter("silent").sort("flow")["flow"].to_list()


def _finding(row: Row, control: str | None) -> Finding:
    sign = _l4s_sign(row, control)
    why, confidence = _reason(row)
    return Finding(
        Severity.ERROR if sign else Severity.NOTICE,
        confidence,
        f"The client requested AccECN, but {why}: {_outcome(row)}."
        + (f" {sign}: L4S was intended, but this flow cannot use it." if sign else ""),
        FIREWALL if row["syn_retry_ace"] == 0 else SERVER,
        source=row["source"],
        flow=row["flow"],
        frames=(row["syn_frame"], row["synack_frame"]),
        measures=(
            Measure("ACE of the SYN", f"{ACCECN_REQUEST:03b}"),
            Measure("ACE of the SYN/ACK", _bits(row["synack_ace"]), "", "010, 011, 100 or 110"),
        ),
    )


def _l4s_sign(row: Row, control: str | None) -> str:
    """Sign that L4S was intended; empty without one."""
    if control is not None:
        return f"The kernel log shows {control} for this flow"
    return "The client sent its SYN with ECT(1)" if row["syn_ecn"] == ECT1 else ""


def _outcome(row: Row) -> str:
    if row["mode"] == "none":
        return "the flow uses no ECN"
    if 2 * (row["data_not_ect"] or 0) > (row["data_packets"] or 0):
        return "the handshake settled on classic ECN, and the client's data is Not-ECT"
    return "the flow uses classic ECN"


def _reason(row: Row) -> tuple[str, Confidence]:
    if row["syn_retry_ace"] in GAVE_UP:
        return _gave_up(row), Confidence.HIGH
    answer = ANSWERS.get(row["synack_ace"])
    if answer is None:
        return _inline(row["mode_reason"]), Confidence.MEDIUM
    why, confidence = answer
    if row["simultaneous_open"]:
        return f"both ends sent a SYN at the same time, and {why}", confidence
    if (row["synack_count"] or 0) > 1 and row["synack_ace"] in SERVER_GAVE_UP:
        repeated = f"{why} in one of {row['synack_count']} SYN/ACKs"
        return f"{repeated}: a server gives up AccECN when its first one is lost", Confidence.MEDIUM
    return why, confidence


def _gave_up(row: Row) -> str:
    """A plain SYN that is answered after one with flags that is not: a firewall first."""
    after = f"the client fell back to {GAVE_UP[row['syn_retry_ace']]} after "
    syns = count(row["syn_count"], "SYN")
    if row["syn_retry_ace"] or row["synack_ace"] is None:
        return f"{after}{syns} (lost, or dropped because of their flags)"
    return (
        f"{after}{syns}: the plain one was answered, those with ECN flags were not (a firewall "
        "drops them, or they were lost)"
    )


def _inline(reason: str | None) -> str:
    return "the handshake did not negotiate it" + (f" ({reason.rstrip('.')})" if reason else "")


def _bits(ace: int | None) -> str:
    return "-" if ace is None else f"{ace:03b}"


RULE = Rule.of(__name__, __doc__, check, REFUSED, UNUSABLE, AS_RENO, CLASSIC_REFUSED, FINAL_ACK)
