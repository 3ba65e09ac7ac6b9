"""The excerpt: a pcapng file that Wireshark opens, with the frames that it claims."""

from __future__ import annotations

import gzip
import lzma
import struct
import subprocess
from pathlib import Path

import pytest

from l4strace import pipeline
from l4strace.model import Analysis, Confidence, Finding, Proof, Severity
from tests.support.files import pcap
from tests.support.places import FIXTURES
from tests.support.wrappings import FRAME, SEGMENT, ethernet, outer_v4

CLEAN = FIXTURES / "accecn-clean/sender.pcap.xz"
FIELDS = ("frame.comment", "frame.time_epoch", "ip.dsfield.ecn", "tcp.seq_raw", "tcp.flags")
HEADERS = 14 + 20 + 20
"""Bytes of FRAME before its payload: Ethernet, IPv4, TCP without options."""


def proof(path: Path, *frames: int, flow: int | None = None) -> Proof:
    found = Finding(
        Severity.ERROR,
        Confidence.HIGH,
        "message",
        rule="L4S301",
        source=0,
        flow=flow,
        frames=frames,
    )
    capture = pipeline.read([str(path)], companions=False)
    proved = pipeline.prove(capture, Analysis((found,))).proof
    assert proved is not None
    return proved


def dissected(path: Path, *more: str) -> list[list[str]]:
    fields = [word for field in FIELDS for word in ("-e", field)]
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", *fields, *more]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    return [line.split("\t") for line in run.stdout.splitlines()]


@pytest.mark.needs("tshark")
def test_wireshark_shows_the_frames_that_are_claimed(tmp_path: Path) -> None:
    frames = (1, 2, 3, 250)
    excerpt = tmp_path / "evidence.pcapng"
    excerpt.write_bytes(proof(CLEAN, *frames).excerpt)
    whole = tmp_path / "whole.pcap"
    whole.write_bytes(lzma.decompress(CLEAN.read_bytes()))
    numbers = ",".join(map(str, frames))
    expected = dissected(whole, "-Y", f"frame.number in {{{numbers}}}")
    shown = dissected(excerpt)
    assert [row[1:] for row in shown] == [row[1:] for row in expected]
    starts = [f"frame {frame} of sender.pcap.xz: " for frame in frames]
    assert all(row[0].startswith(start) for row, start in zip(shown, starts, strict=True))


def packets(pcapng: bytes) -> list[bytes]:
    """Bytes of the enhanced packet blocks."""
    at, found = 0, []
    while at < len(pcapng):
        kind, size = struct.unpack_from("<II", pcapng, at)
        if kind == 6:
            (kept,) = struct.unpack_from("<I", pcapng, at + 20)
            found.append(pcapng[at + 28 : at + 28 + kept])
        at += size
    return found


def section(order: str) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        size = len(body) + 12
        return struct.pack(f"{order}II", kind, size) + body + struct.pack(f"{order}I", size)

    data = FRAME + bytes(-len(FRAME) % 4)
    times = struct.pack(f"{order}IIIII", 1, 0, 0, len(FRAME), len(FRAME))
    return (
        block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))
        + block(1, struct.pack(f"{order}HHI", 113, 0, 0))
        + block(1, struct.pack(f"{order}HHI", 1, 0, 0))
        + block(6, times + data)
    )


@pytest.mark.parametrize(
    "content",
    [pcap([FRAME]), gzip.compress(pcap([FRAME])), section("<"), section(">")],
    ids=["pcap", "gz", "pcapng", "big-endian pcapng"],
)
def test_every_form_of_capture_can_be_cut(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.pcap"
    path.write_bytes(content)
    found = proof(path, 1)
    (packet,) = found.packets[0]
    (kept,) = packets(found.excerpt)
    assert kept == FRAME[: len(FRAME) - packet.payload_bytes]


def test_payload_stays_out(tmp_path: Path) -> None:
    found = proof(CLEAN, *range(10, 30))
    data = [one for one in found.packets[0] if one.payload_bytes > 1000]
    assert data
    assert max(map(len, packets(found.excerpt))) < 120


@pytest.mark.parametrize("kept", [54, 58, 74, 100])
def test_a_packet_whose_original_length_was_lost_is_cut_behind_its_headers(
    tmp_path: Path, kept: int
) -> None:
    """A sanitizer wrote the length that it kept as the length on the wire."""
    path = tmp_path / "run.pcap"
    path.write_bytes(pcap([FRAME[:kept]]))
    found = proof(path, 1)
    (packet,) = found.packets[0]
    assert (packet.payload_bytes, packet.wire_bytes) == (len(FRAME) - HEADERS, kept)
    assert packets(found.excerpt) == [FRAME[:HEADERS]]


def test_padding_behind_the_payload_keeps_no_payload(tmp_path: Path) -> None:
    path = tmp_path / "run.pcap"
    path.write_bytes(pcap([FRAME + bytes(40)]))
    assert packets(proof(path, 1).excerpt) == [FRAME[:HEADERS]]


def test_nothing_found_gives_no_file(tmp_path: Path) -> None:
    path = tmp_path / "run.pcap"
    path.write_bytes(pcap([FRAME]))
    assert proof(path, 77).excerpt == b""


def test_a_capture_that_is_gone_gives_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "run.pcap"
    path.write_bytes(pcap([FRAME]))
    capture = pipeline.read([str(path)], companions=False)
    found = Finding(Severity.ERROR, Confidence.HIGH, "m", rule="L4S301", source=0, frames=(1,))
    path.write_bytes(b"something else by now")
    proved = pipeline.prove(capture, Analysis((found,))).proof
    assert proved is not None
    assert (proved.packets, proved.excerpt) == ({}, b"")
    assert proved.absent.startswith("The packets could not be read a second time (")


def test_of_a_packet_in_fragments_nothing_but_headers_is_kept(tmp_path: Path) -> None:
    """It has the number of its last fragment, in which there is payload only."""
    body = SEGMENT + bytes(100)
    parts = [bytearray(outer_v4(6, part, 1)) for part in (body[:80], body[80:])]
    # More fragments follow; this one begins at byte 80 of the datagram.
    struct.pack_into(">H", parts[0], 6, 0x2000)
    struct.pack_into(">H", parts[1], 6, 80 // 8)
    first, last = (ethernet(bytes(part)) for part in parts)
    path = tmp_path / "run.pcap"
    path.write_bytes(pcap([first, last]))
    found = proof(path, 2)
    (packet,) = found.packets[0]
    assert packet.payload_bytes == 100
    assert packets(found.excerpt) == [b""]
