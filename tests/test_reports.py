"""What strangers' captures showed: each small input gets its right answer."""

import lzma
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from l4strace import pipeline
from l4strace.model import Analysis, Finding, Severity
from l4strace.output import flow_lines
from l4strace.output import json as as_json
from l4strace.wording import quantities
from tests.support.places import FIXTURES

PCAP_HEADER, RECORD_HEADER = 24, 16
TOS = 15
"""Offset of the TOS byte behind an Ethernet header."""
CE = 3


@cache
def analysis(*names: str) -> Analysis:
    evidence = pipeline.derive(
        pipeline.read([str(FIXTURES / "reports" / f"{name}.pcap.xz") for name in names]),
        strict=True,
    )
    return pipeline.judge(evidence, strict=True)


def worst(*names: str) -> dict[str, Finding]:
    """Findings at WARNING or above, by rule."""
    found = analysis(*names).findings
    return {one.rule: one for one in found if one.severity >= Severity.WARNING}


REMARKED = ("remark-both-ends-snd", "remark-both-ends-rcv")


@pytest.mark.parametrize("names", [REMARKED, REMARKED[::-1]])
def test_a_path_that_makes_ect1_of_ect0_is_to_blame_and_the_sender_is_not(
    names: tuple[str, str],
) -> None:
    assert set(worst(*names)) == {"L4S105"}


def test_the_same_packets_at_the_receiver_alone_accuse_nobody() -> None:
    found = worst("remark-both-ends-rcv")["L4S102"]
    assert "or the path re-marks ECT(0)" in found.message


def test_ce_at_the_sender_accuses_no_hop() -> None:
    found = worst("ce-at-the-sender")
    assert set(found) == {"L4S403"}
    assert "no hop behind this capture has marked them" in found["L4S403"].message


SHARES = {"reports/gso-ce-share.pcap.xz": (1_078, 9_337), "dctcp/dctcp.pcapng.xz": (649, 12_233)}
"""Marked and delivered packets, as simulator and kernel counted them."""


@pytest.mark.parametrize(("name", "counted"), SHARES.items())
def test_the_share_of_ce_is_of_packets_on_the_wire(name: str, counted: tuple[int, int]) -> None:
    """With segmentation offloads it was 88 % and 35 %. The last flight is not fed back."""
    marks, packets = counted
    capture = pipeline.read([str(FIXTURES / name)], companions=False)
    (row,) = as_json.document(capture, Analysis(()))["flows"]
    assert row["forward"]["marked_share"] == pytest.approx(marks / packets, abs=0.006)
    assert row["forward"]["data_segments"] == pytest.approx(packets, rel=0.002)
    (line,) = flow_lines.rows(capture)
    assert line[flow_lines.HEADS.index("CE")] == quantities.share(row["forward"]["marked_share"])


def test_ect_that_was_cleared_before_a_download_arrived_is_named() -> None:
    found = worst("classic-bleached-download")
    assert set(found) == {"L4S113"}
    assert "although classic ECN was negotiated" in found["L4S113"].message


def test_losses_before_the_capture_are_not_of_the_path_behind_it() -> None:
    """Egress of a router: the queue before it dropped 99 packets, some of them twice."""
    found = analysis("capture-after-the-queue")
    assert found.findings == ()
    assert found.frame is not None
    assert found.frame.limits.startswith(
        "Unknown: at least 75 packets lost before the capture point, whose queue is not seen here"
    )


def test_a_hop_that_marks_all_packets_of_a_classic_flow_is_named(tmp_path: Path) -> None:
    """The packets of `ce-at-the-sender`, as if they had left as ECT(0)."""
    with lzma.open(FIXTURES / "reports" / "ce-at-the-sender.pcap.xz") as file:
        capture = bytearray(file.read())
    for at in packets_of(capture):
        if capture[at + TOS] & CE == CE:
            capture[at + TOS] ^= 1
    path = tmp_path / "marked.pcap"
    path.write_bytes(capture)
    (found,) = pipeline.judge(pipeline.derive(pipeline.read([str(path)])), ["L4S403"]).findings
    assert "packets from the receiver carry ECE although the sender answers" in found.message
    assert "a hop marks every packet" in found.message


def packets_of(capture: bytes) -> Iterator[int]:
    """Where each packet of a little-endian pcap begins."""
    at = PCAP_HEADER
    while at < len(capture):
        yield at + RECORD_HEADER
        at += RECORD_HEADER + struct.unpack_from("<I", capture, at + 8)[0]


def test_a_policer_is_named_with_its_rate_and_its_burst() -> None:
    """Simulated: 2 Mbit/s of frames and 40 kB at once, on a path of 20 Mbit/s."""
    found = {one.rule: one.message for one in analysis("policer-snd").findings}
    assert found["L4S401"].startswith(
        "Policer at the bottleneck. 50 packets retransmitted after the start at 1 ms"
    )
    assert "between groups of drops passes one rate (1.92 Mbit/s, " in found["L4S401"]
    assert found["L4S410"].startswith(
        "A policer drops what exceeds 1.92 Mbit/s and bursts of at least 30.5 kB: 180 packets"
    )
    assert not {"L4S408", "L4S504"} & set(found), "the path carries more, and nobody may use it"


def test_repairs_without_sack_are_no_lower_capacity() -> None:
    """Recorded in namespaces: tbf of 50 Mbit/s, tcp_sack=0. The capacity "fell to 12.4 Mbit/s"."""
    found = {one.rule: one.message for one in analysis("repairs-without-sack").findings}
    assert not {"L4S408", "L4S504"} & set(found)
    assert "L4S406" not in found, "the recording host stalled now and then: no period"
