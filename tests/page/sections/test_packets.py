"""Evidence packets as the page shows them."""

from __future__ import annotations

import base64
import dataclasses

import pytest

from l4strace.model import Proof, ProofPacket
from l4strace.page.build import build
from l4strace.page.case import Case
from l4strace.page.fill import encoded
from l4strace.page.sections import packets
from tests.support import synthetic


@pytest.fixture(scope="module")
def case() -> Case:
    return Case(synthetic.misfire(), synthetic.misfire_analysis())


def test_packets_stand_under_their_finding_and_can_be_downloaded(case: Case) -> None:
    packet = ProofPacket(
        source=0, frame=2281, ts_ns=synthetic.at(0.5), flow=0, forward=False, ip_ecn=2,
        tcp_flags=0x018, ace=6, counters=(1, None, 9000), seq=1, ack=None, payload_bytes=0,
        named=True, shows="reports 1 more CE packet", offset=24, captured_bytes=66, wire_bytes=66,
        header=bytes(12),
    )  # fmt: skip
    proof = Proof({0: (packet,)}, b"pcapng", "One is missing.")
    section = packets.build(Case(case.evidence, dataclasses.replace(case.analysis, proof=proof)))
    (group,) = section.groups
    assert group.about.startswith(case.analysis.findings[0].headline)
    (row,) = group.rows
    assert (group.key, group.source) == ("L4S301-flow-0", "sender.pcapng.xz")
    assert (row.frame, row.time, row.to, row.codepoint) == ("2281", "0.500000", "client", "ECT(0)")
    assert (row.flags, row.ace, row.counters) == ("PSH", "110", "E0B\xa01 E1B\xa09,000")
    assert (row.ack, row.named) == ("\N{EN DASH}", True)
    first = case.analysis.findings[0]
    again = (first, dataclasses.replace(first, flow=1))
    twice = dataclasses.replace(case.analysis, findings=again, proof=Proof({0: (packet,)}, b""))
    (named,) = packets.build(Case(case.evidence, twice)).groups
    assert named.about == group.about.replace(first.headline, f"{first.headline}, flow 0")
    assert base64.b64decode(section.excerpt) == b"pcapng"
    assert section.name == "sender-evidence.pcapng"
    assert (section.about, section.absent) == ("1 packet without payload, 6 B", "One is missing.")
    proven = Case(case.evidence, dataclasses.replace(case.analysis, proof=proof))
    html = encoded(build(proven)).decode()
    assert 'href="#packets-L4S301-flow-0"' in html
    assert 'id="packets-L4S301-flow-0"' in html


def test_over_udp_stand_numbers_and_reports_in_place_of_what_only_tcp_has(case: Case) -> None:
    packet = ProofPacket(
        source=0, frame=7, ts_ns=synthetic.at(0.5), flow=0, forward=True, ip_ecn=1,
        tcp_flags=None, ace=None, counters=None, seq=None, ack=None, payload_bytes=1200,
        named=True, shows="data as ECT(1)", offset=24, captured_bytes=66, wire_bytes=1242,
        header=bytes(6), number=4711,
    )  # fmt: skip
    known = dataclasses.replace(case.analysis, proof=Proof({0: (packet,)}, b"pcapng"))
    report = build(Case(case.evidence, known))
    section = packets.build(Case(case.evidence, known))
    (row,) = section.groups[0].rows
    assert (row.seq, row.ack, row.payload) == ("4,711", "\N{EN DASH}", "1,200")
    html = encoded(report).decode()
    shown = html[html.index('id="packets-L4S301-flow-0"') :].partition("</table>")[0]
    assert "reports up to" in shown
    assert "ACE" not in shown
