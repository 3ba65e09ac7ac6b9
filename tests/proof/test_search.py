"""The packets behind findings, found in recorded captures."""

from __future__ import annotations

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.evidence import Evidence
from l4strace.ingest import packets as stream
from l4strace.model import Analysis, ProofPacket
from l4strace.proof import search
from l4strace.proof.wanted import Lookup
from tests.support.places import FIXTURES


@pytest.fixture(scope="module")
def bleached() -> tuple[Evidence, Analysis]:
    folder = FIXTURES / "accecn-bleached"
    paths = [str(folder / f"{end}.pcap.xz") for end in ("sender", "receiver")]
    evidence = pipeline.derive(pipeline.read(paths))
    return evidence, pipeline.judge(evidence, select=["L4S104"], strict=True)


def lookup(**values: object) -> Lookup:
    plain = Lookup(0, 0, frozenset(), 0, None, True)
    return plain._replace(**values)  # type: ignore[arg-type]


def found(evidence: Evidence, wanted: Lookup) -> tuple[ProofPacket, ...]:
    return search.packets(evidence, [wanted]).get(wanted.place, ())


def test_bleaching_is_proved_by_the_handshake(bleached: tuple[Evidence, Analysis]) -> None:
    evidence, analysis = bleached
    proof = pipeline.prove(evidence, analysis, copy=False).proof
    assert proof is not None
    assert [(one.named, one.shows) for one in proof.packets[0]] == [
        (True, "requests AccECN, as ECT(1) here"),
        (False, "accepts AccECN; the SYN arrived as Not-ECT"),
        (False, "the SYN/ACK arrived as ECT(1)"),
    ]
    assert proof.excerpt == b""


def test_packets_carry_what_the_table_has(bleached: tuple[Evidence, Analysis]) -> None:
    evidence, _ = bleached
    (packet,) = found(evidence, lookup(frames=frozenset({100}), flow=None))
    row = pl.concat(stream.of_source(evidence, 0)).filter(frame=100).row(0, named=True)
    assert (packet.ts_ns, packet.seq, packet.ack) == (row["ts_ns"], row["seq"], row["ack"])
    assert (packet.ip_ecn, packet.ace, packet.named) == (row["ip_ecn"], row["ace"], True)
    assert packet.counters == (row["e0b"], row["ceb"], row["e1b"])


def test_the_span_bounds_what_lies_around(bleached: tuple[Evidence, Analysis]) -> None:
    evidence, _ = bleached
    start = evidence.flows["first_ns"][0]
    early = found(evidence, lookup(span_ns=(start, start + 1_000_000)))
    assert [one.frame for one in early] == [1]
    late = found(evidence, lookup(span_ns=(start + 10**12, start + 2 * 10**12)))
    assert late == ()


def test_no_more_is_shown_than_a_person_reads(bleached: tuple[Evidence, Analysis]) -> None:
    evidence, _ = bleached
    assert len(found(evidence, lookup())) == search.AROUND
    without = found(evidence, lookup(losses=False))
    assert not any("retransmits" in one.shows for one in without)


def test_a_code_of_the_handshake_is_no_step_of_the_counter() -> None:
    path = str(FIXTURES / "accecn-clean/sender.pcap.xz")
    evidence = pipeline.derive(pipeline.read([path], companions=False))
    first = found(evidence, lookup())
    steps = [one for one in first if "more CE" in one.shows]
    assert steps[0].shows.startswith("reports 1 more CE packet (ACE 101 to 110")
