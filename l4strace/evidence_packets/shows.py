"""What one packet shows, in half a sentence: codepoint, feedback, handshake, retransmission."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from l4strace.schema.words import CE, ECN_FIELD
from l4strace.wording.quantities import count

FIN, SYN, RST, ACK, ECE, CWR = 0x001, 0x002, 0x004, 0x010, 0x040, 0x080
REQUESTS = {
    0b000: "does not request ECN",
    0b011: "requests classic ECN",
    0b111: "requests AccECN",
}
"""ACE of a SYN (RFC 9768 section 3.1.1)."""
REFLECTS = {0b010: "Not-ECT", 0b011: "ECT(1)", 0b100: "ECT(0)", 0b110: "CE"}
"""ACE of a SYN/ACK or final ACK under AccECN: the codepoint that the packet before arrived with
(RFC 9768 section 3.1.1, tables 2 and 3)."""
REFUSALS = {0b000: "refuses ECN", 0b001: "answers with classic ECN", 0b111: "repeats the request"}
ACE_STEPS, COUNTER_STEPS = 8, 1 << 24
"""ACE has 3 bits, a counter of the option 24 (RFC 9768 sections 3.2.2 and 3.2.3)."""


def sentence(row: dict[str, Any], handshake: dict[str, Any]) -> str:
    """What ``row`` of `packets` shows; ``handshake`` is its row of `flows`.

    ``row`` also has `ace_before`, `ceb_before` and `repeats`, as `search` adds them.
    """
    flags = row["tcp_flags"] or 0
    if flags & RST:
        return "resets the connection"
    if flags & SYN:
        facts = _synack(row, handshake) if flags & ACK else _syn(row)
    elif row["frame"] == handshake.get("final_ack_frame"):
        facts = _final_ack(row, handshake)
    else:
        facts = _established(row, handshake.get("mode"), flags)
    return "; ".join(facts) or _plain(row, flags)


def of_datagram(row: dict[str, Any]) -> str:
    """What a datagram shows; ``row`` has `data` and `ecn_before`, as `over_udp` adds them."""
    what = "data" if row["data"] else "returns" if row["reported"] is None else "a report"
    return "; ".join(_stated(row)) or f"{what} as {ECN_FIELD[row['ip_ecn']]}"


def _stated(row: dict[str, Any]) -> Iterator[str]:
    if row["ip_ecn"] == CE:
        yield "marked CE when it passed here"
    elif row["ecn_before"] not in (None, CE):
        yield f"{ECN_FIELD[row['ip_ecn']]} after {ECN_FIELD[row['ecn_before']]}"
    if row["ce"]:
        yield f"reports {count(row['ce'], 'more CE packet')}"


def _plain(row: dict[str, Any], flags: int) -> str:
    if row["payload_len"]:
        return f"data as {ECN_FIELD[row['ip_ecn']]}"
    return "ends its direction" if flags & FIN else "acknowledges"


def _syn(row: dict[str, Any]) -> Iterator[str]:
    asked = REQUESTS.get(row["ace"], "requests AccECN, with a reserved code")
    yield f"{asked}, as {ECN_FIELD[row['ip_ecn']]} here"


def _synack(row: dict[str, Any], handshake: dict[str, Any]) -> Iterator[str]:
    ace = row["ace"]
    if handshake.get("mode") == "accecn" and ace in REFLECTS:
        yield f"accepts AccECN; the SYN arrived as {REFLECTS[ace]}"
    elif ace == 0 and handshake.get("syn_ace") == 0:
        yield "answers without ECN"
    else:
        yield REFUSALS.get(ace, f"answers with ACE {ace:03b}")


def _final_ack(row: dict[str, Any], handshake: dict[str, Any]) -> Iterator[str]:
    if handshake.get("mode") != "accecn":
        return
    if row["ace"] in REFLECTS:
        yield f"the SYN/ACK arrived as {REFLECTS[row['ace']]}"
    elif row["ace"] == 0:
        yield "final ACK without the AccECN code: the server must not send ECT"


def _established(row: dict[str, Any], mode: str | None, flags: int) -> Iterator[str]:
    if row["ip_ecn"] == CE:
        yield "marked CE when it passed here"
    if mode == "accecn":
        yield from _feedback(row)
    elif mode == "classic":
        if flags & ECE:
            yield "reports a mark (ECE)"
        if flags & CWR:
            yield "the sender has reduced its window (CWR)"
    if row["repeats"]:
        yield f"retransmits from byte {row['seq']:,}"
    if row["sack"] is not None and len(row["sack"]):
        yield "a hole in what arrived (SACK)"


def _feedback(row: dict[str, Any]) -> Iterator[str]:
    """Steps of the counters: each is known up to its modulus."""
    before, ace = row["ace_before"], row["ace"]
    if before is not None and ace != before:
        marks = count((ace - before) % ACE_STEPS, "more CE packet")
        yield f"reports {marks} (ACE {before:03b} to {ace:03b}, modulo 8)"
    if row["ceb_before"] is None or row["ceb"] is None:
        return
    if grown := (row["ceb"] - row["ceb_before"]) % COUNTER_STEPS:
        yield f"ECEB grows by {grown:,} bytes"
