"""The stretches around findings: bounded, and each holds the moment of its findings."""

from __future__ import annotations

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.evidence import over_udp
from l4strace.evidence_packets import stretches
from l4strace.ingest import packets
from l4strace.pipeline import Judged
from tests.support.places import FIXTURES


@pytest.fixture(scope="module")
def misfire() -> Judged:
    paths = [str(FIXTURES / "misfire/misfire.pcap.xz")]
    (run,) = pipeline.diagnose(paths, pipeline.Asked(prove=True))
    return run


def test_each_finding_with_packets_has_a_stretch_that_holds_its_moment(misfire: Judged) -> None:
    proof = misfire.analysis.proof
    assert proof is not None
    shown = {place: one for one in proof.stretches for place in one.moments}
    assert shown.keys() == proof.packets.keys()
    for place, one in shown.items():
        finding = misfire.analysis.findings[place]
        assert finding.flow in (None, one.flow)
        assert one.start_ns <= one.moments[place] <= one.end_ns
        named = [packet for packet in proof.packets[place] if packet.named]
        if named:
            assert one.moments[place] == named[0].ts_ns


def test_stretches_are_bounded_and_complete(misfire: Judged) -> None:
    assert misfire.analysis.proof is not None
    found = misfire.analysis.proof.stretches
    assert 1 < len(found) <= stretches.MOST_STRETCHES
    whole = pl.concat(packets.batches(misfire.read))
    for one in found:
        within = pl.col("ts_ns").is_between(one.start_ns, one.end_ns)
        there = whole.filter(within, flow=one.flow).select(one.packets.columns)
        assert one.packets.equals(there.head(stretches.MOST_ROWS))
        data = one.packets.filter(pl.col("payload_len") > 0, forward=one.forward)
        assert 0 < data.height <= stretches.DATA_PACKETS + 1


def test_findings_close_to_each_other_share_a_stretch(misfire: Judged) -> None:
    assert misfire.analysis.proof is not None
    assert any(len(one.moments) > 1 for one in misfire.analysis.proof.stretches)


@pytest.mark.parametrize("name", ["pq1", "up1", "upbleach"])
def test_findings_over_udp_have_stretches_with_the_frames_that_they_name(name: str) -> None:
    paths = [str(FIXTURES / f"user-space/{name}-{end}.pcap.xz") for end in "ab"]
    (run,) = pipeline.diagnose(paths, pipeline.Asked(prove=True))
    proof = run.analysis.proof
    assert proof is not None
    shown = {place: one for one in proof.stretches for place in one.moments}
    about_flows = {at for at, one in enumerate(run.analysis.findings) if one.flow is not None}
    assert about_flows <= shown.keys()
    for place, one in shown.items():
        assert one.packets is not None
        assert 0 < one.packets.height <= stretches.MOST_ROWS
        assert one.start_ns >= over_udp(run.read)["first_ns"].min(), "not before the run"
        frames = run.analysis.findings[place].frames
        passed = dict(one.packets.select("frame", "ts_ns").iter_rows())
        assert not frames or one.moments[place] == passed[min(frames)]
