"""The packets behind findings, found in recorded captures."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.evidence import Evidence
from l4strace.evidence_packets import search
from l4strace.evidence_packets.wanted import Lookup
from l4strace.ingest import packets as stream
from l4strace.model import Analysis, ProofPacket
from tests.support import proof_in_polars
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
    assert len(found(evidence, lookup())) == search.PACKETS_AROUND
    without = found(evidence, lookup(losses=False))
    assert not any("retransmits" in one.shows for one in without)


def test_a_code_of_the_handshake_is_no_step_of_the_counter() -> None:
    path = str(FIXTURES / "accecn-clean/sender.pcap.xz")
    evidence = pipeline.derive(pipeline.read([path], companions=False))
    first = found(evidence, lookup())
    steps = [one for one in first if "more CE" in one.shows]
    assert steps[0].shows.startswith("reports 1 more CE packet (ACE 101 to 110")


@pytest.mark.parametrize("name", ["misfire/misfire.pcap.xz", "accecn-bleached/receiver.pcap.xz"])
@pytest.mark.parametrize("accecn", [True, False])
def test_the_same_packets_are_found_in_polars(name: str, accecn: bool) -> None:
    """Lookups of all kinds at once, over some batches of packets."""
    run = pipeline.read([str(FIXTURES / name)], companions=False)
    mode = pl.lit("accecn" if accecn else "classic")
    run = dataclasses.replace(run, flows=run.flows.with_columns(mode=mode))
    first, last = run.directions["first_ns"].min(), run.directions["last_ns"].max()
    assert isinstance(first, int)
    assert isinstance(last, int)
    middle = (first + last) // 2
    frames = (frozenset[int](), frozenset({1, 2, 777}), frozenset({10**9}))
    spans = (None, (first, middle), (middle, last), (last + 1, last + 2))
    flows = (None, *run.flows["flow"].to_list(), 10**6)
    every = [
        Lookup(0, 0, own, flow, span, losses)
        for own in frames
        for span in spans
        for flow in flows
        for losses in (True, False)
    ]
    for some in (every, every[::7], every[3:9], every[1:2]):
        lookups = [one._replace(place=place) for place, one in enumerate(some)]
        rows = search.rows(run, 0, lookups)
        shown_of: dict[int, list[tuple[object, ...]]] = {}
        for lookup, *shown in rows.select("lookup", *proof_in_polars.SHOWN).iter_rows():
            shown_of.setdefault(lookup, []).append(tuple(shown))
        assert shown_of == proof_in_polars.found(run, lookups)
