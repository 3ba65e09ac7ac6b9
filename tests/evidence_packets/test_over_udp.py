"""The datagrams behind findings, found in recorded captures."""

from __future__ import annotations

import struct

import pytest

from l4strace import pipeline
from l4strace.model import Analysis, Confidence, Finding, Proof, ProofPacket, Severity
from l4strace.schema.words import CE
from tests.support.places import FIXTURES


def proved(name: str, *rules: str) -> dict[str, tuple[Finding, tuple[ProofPacket, ...], Proof]]:
    """Of each rule its finding, the packets of that, and the whole proof."""
    paths = [str(FIXTURES / "user-space" / f"{name}-{end}.pcap.xz") for end in "ab"]
    evidence = pipeline.derive(pipeline.read(paths))
    analysis = pipeline.prove(evidence, pipeline.judge(evidence, select=rules, strict=True))
    return by_rule(analysis)


def by_rule(analysis: Analysis) -> dict[str, tuple[Finding, tuple[ProofPacket, ...], Proof]]:
    proof = analysis.proof
    assert proof is not None
    return {
        finding.rule: (finding, proof.packets.get(place, ()), proof)
        for place, finding in enumerate(analysis.findings)
    }


def test_bleaching_of_udp_prague_shows_what_its_sender_sent() -> None:
    found = proved("upbleach", "L4S104", "L4S210")
    finding, packets, _ = found["L4S104"]
    (named,) = [one for one in packets if one.named]
    assert (named.frame,) == finding.frames
    assert (named.shows, named.number) == ("data as ECT(1)", 1)
    assert (named.tcp_flags, named.ace, named.seq, named.ack) == (None, None, None, None)
    _, given_up, _ = found["L4S210"]
    assert "Not-ECT after ECT(1)" in [one.shows for one in given_up if one.named]


def test_encrypted_numbers_stay_absent_and_a_change_of_codepoint_is_told() -> None:
    _, packets, _ = proved("qgbleach", "L4S104")["L4S104"]
    assert {(one.number, one.reported) for one in packets} == {(None, None)}
    shown = [one.shows for one in packets]
    assert shown == ["ECT(0) after Not-ECT", "Not-ECT after ECT(0)"]


def test_where_nothing_is_named_and_nothing_tells_some_data_stands() -> None:
    _, packets, _ = proved("up1", "L4S401")["L4S401"]
    assert [(one.shows, one.named) for one in packets] == [("data as ECT(1)", False)] * 3
    assert [one.number for one in packets] == [1, 2, 3]


def test_marks_are_told_where_they_passed() -> None:
    capture = pipeline.read([str(FIXTURES / "user-space/pq1-b.pcap.xz")], companions=False)
    finding = Finding(
        Severity.INFO, Confidence.HIGH, "m", rule="L4S401", source=0, flow=0, forward=False
    )
    (found,) = by_rule(pipeline.prove(capture, Analysis((finding,)))).values()
    marked = [one for one in found[1] if one.ip_ecn == CE]
    assert len(marked) >= 3
    assert {one.shows for one in marked} == {"marked CE when it passed here"}


@pytest.mark.parametrize("name", ["up1", "pq1"])
def test_the_excerpt_ends_with_the_udp_header(name: str) -> None:
    _, packets, proof = proved(name, "L4S401")["L4S401"]
    at, cut = 0, []
    while at < len(proof.excerpt):
        kind, size = struct.unpack_from("<II", proof.excerpt, at)
        if kind == 6:
            kept, wire = struct.unpack_from("<II", proof.excerpt, at + 20)
            cut.append((proof.excerpt[at + 28 : at + 28 + kept], wire))
        at += size
    assert len(cut) == len(packets) > 0
    for (data, wire), packet in zip(cut, packets, strict=True):
        length = struct.unpack_from(">H", data, len(data) - 4)[0]
        assert length == 8 + packet.payload_bytes
        assert wire == packet.wire_bytes == len(data) + packet.payload_bytes
