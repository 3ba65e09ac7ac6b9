"""What a packet shows, in words."""

from __future__ import annotations

from typing import Any

import pytest

from l4strace.evidence_packets.shows import sentence

ACK, SYN, SYNACK = 0x010, 0x002, 0x012
ACCECN = {"mode": "accecn", "final_ack_frame": 3}
BARE = "final ACK without the AccECN code: the server must not send ECT"
WRAPPED = "reports 3 more CE packets (ACE 110 to 001, modulo 8)"
CLASSIC = {"mode": "classic", "final_ack_frame": 3}


def shown(handshake: dict[str, Any] = ACCECN, **columns: Any) -> str:
    row = {
        "frame": 9, "tcp_flags": ACK, "ace": 5, "ace_before": 5, "ip_ecn": 1, "ceb": None,
        "ceb_before": None, "repeats": False, "seq": 1, "payload_len": 0, "sack": None,
    }  # fmt: skip
    return sentence(row | columns, handshake)


@pytest.mark.parametrize(
    ("handshake", "columns", "text"),
    [
        (ACCECN, {"tcp_flags": SYN, "ace": 7}, "requests AccECN, as ECT(1) here"),
        (CLASSIC, {"tcp_flags": SYN, "ace": 3}, "requests classic ECN, as ECT(1) here"),
        (ACCECN, {"tcp_flags": SYNACK, "ace": 2}, "accepts AccECN; the SYN arrived as Not-ECT"),
        (CLASSIC, {"tcp_flags": SYNACK, "ace": 1}, "answers with classic ECN"),
        ({"mode": "none", "syn_ace": 7}, {"tcp_flags": SYNACK, "ace": 0}, "refuses ECN"),
        ({"mode": "none", "syn_ace": 0}, {"tcp_flags": SYNACK, "ace": 0}, "answers without ECN"),
        (ACCECN, {"frame": 3, "ace": 6, "ace_before": None}, "the SYN/ACK arrived as CE"),
        (ACCECN, {"frame": 3, "ace": 0}, BARE),
        (ACCECN, {"ace": 1, "ace_before": 6}, WRAPPED),
        (ACCECN, {"ceb": 400, "ceb_before": (1 << 24) - 600}, "ECEB grows by 1,000 bytes"),
        (CLASSIC, {"tcp_flags": 0x050}, "reports a mark (ECE)"),
        (CLASSIC, {"tcp_flags": 0x090}, "the sender has reduced its window (CWR)"),
        (ACCECN, {"ip_ecn": 3, "payload_len": 9}, "marked CE when it passed here"),
        (ACCECN, {"repeats": True, "seq": 1449}, "retransmits from byte 1,449"),
        (ACCECN, {"sack": [1, 2]}, "a hole in what arrived (SACK)"),
        (ACCECN, {"payload_len": 9}, "data as ECT(1)"),
        (ACCECN, {}, "acknowledges"),
        (ACCECN, {"tcp_flags": 0x014}, "resets the connection"),
        ({}, {"ace": 7}, "acknowledges"),
    ],
)  # fmt: skip
def test_a_packet_in_words(handshake: dict[str, Any], columns: dict[str, Any], text: str) -> None:
    assert shown(handshake, **columns) == text
