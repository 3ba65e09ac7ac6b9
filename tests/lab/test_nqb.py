"""Senders with DSCP 45 (NQB): a recorded one, and the same packets sent picture by picture."""

import lzma
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from l4strace import pipeline
from l4strace.model import Finding, Severity
from l4strace.rules import l4s411_nqb_in_deep_queue as deep_queue
from l4strace.rules.l4s206_burst_too_long import RULE
from l4strace.schema.words import NQB
from tests.support.ends import CLIENT, findings

APART_NS = 4_000_000
"""The sender pauses at least so long between the pictures of its media."""
CLOSE_NS = 20_000
"""A network card of 500 Mbit/s takes so long for a packet."""
TCP, UDP = 6, 17
CLONED = 5
"""One of so many segments of TCP has a datagram beside it."""


def judged(recording: bytes, folder: Path, *, bursts: bool, tos: int) -> list[Finding]:
    """What the sender's packets show with another ToS byte, and sent at once or as recorded."""
    data, at, last_ns, sent_ns = bytearray(recording), 24, 0, 0
    while at < len(data):
        seconds, parts, held = struct.unpack_from("<III", data, at)
        if data[at + 28 : at + 32] == CLIENT:
            ns = seconds * 10**9 + parts
            sent_ns = ns if ns - last_ns > APART_NS else min(ns, sent_ns + CLOSE_NS)
            last_ns = ns
            data[at + 17] = tos
            if bursts:
                struct.pack_into("<II", data, at, *divmod(sent_ns, 10**9))
        at += 16 + held
    (capture := folder / "a.pcap").write_bytes(data)
    read = pipeline.read([str(capture)], companions=False)
    return findings(RULE, pipeline.derive(read, strict=True))


def test_fires_on_a_recorded_sender_that_bursts_under_nqb(
    shared_data: Path, tmp_path: Path
) -> None:
    recording = lzma.decompress((shared_data / "user-space/sc1/a.pcap.xz").read_bytes())
    (found,) = judged(recording, tmp_path, bursts=True, tos=NQB << 2)
    assert "burst of this NQB sender lasts" in found.message
    assert judged(recording, tmp_path, bursts=False, tos=NQB << 2) == []
    assert judged(recording, tmp_path, bursts=True, tos=0) == []


def records(recording: bytes) -> Iterator[bytearray]:
    """Each record of a capture with its header."""
    at = 24
    while at < len(recording):
        (held,) = struct.unpack_from("<I", recording, at + 8)
        yield bytearray(recording[at : at + 16 + held])
        at += 16 + held


def both_ends(folder: Path, into: Path, transport: int) -> list[Finding]:
    """What both captures show where the client's packets of ``transport`` have DSCP 45."""
    captures = []
    for end in "ab":
        recording = lzma.decompress((folder / f"{end}.pcap.xz").read_bytes())
        made = recording[:24]
        for record in records(recording):
            if record[28:32] == CLIENT and record[25] == transport:
                record[17] = NQB << 2 | record[17] & 3
            made += record
        (capture := into / f"{end}.pcap").write_bytes(made)
        captures.append(str(capture))
    read = pipeline.read(captures, companions=False)
    return findings(deep_queue.RULE, pipeline.derive(read, strict=True))


@pytest.mark.parametrize(
    ("run", "transport", "wait"), [("upbleach", UDP, "68.4 ms"), ("mixup", TCP, "17.5 ms")]
)
def test_fires_on_a_recorded_sender_that_fills_its_queue_under_nqb(
    shared_data: Path, tmp_path: Path, run: str, transport: int, wait: str
) -> None:
    (one,) = both_ends(shared_data / "user-space" / run, tmp_path, transport)
    assert one.variant == "builds"
    assert f"its packets wait {wait} (median, threshold 10 ms)" in one.message


@pytest.mark.parametrize("run", ["up1", "sc1", "up8888"])
def test_silent_on_a_recorded_sender_under_nqb_that_does_not(
    shared_data: Path, tmp_path: Path, run: str
) -> None:
    assert both_ends(shared_data / "user-space" / run, tmp_path, UDP) == []


def with_datagrams(recording: bytes, tos: int) -> bytes:
    """The capture with a datagram right behind some segments of TCP: in the same queue."""
    made = recording[:24]
    for record in records(recording):
        made += record
        (number,) = struct.unpack_from(">I", record, 40)
        (length,) = struct.unpack_from(">H", record, 18)
        data = record[28:32] == CLIENT and record[25] == TCP and length > 1000
        if data and number // 1448 % CLONED == 0:
            payload = struct.pack(">I", number) * 20
            ports = struct.pack(">HHHH", 40_000, 50_000, 8 + len(payload), 0)
            clone = bytearray(record[:36]) + ports + payload
            clone[17], clone[25] = tos, UDP
            struct.pack_into(">H", clone, 18, 28 + len(payload))
            struct.pack_into("<II", clone, 8, len(clone) - 16, len(clone) - 16)
            made += clone
    return made


@pytest.mark.parametrize(("tos", "fires"), [(NQB << 2, 1), (1, 1), (0, 0)])
def test_fires_where_a_low_latency_flow_waits_with_recorded_tcp(
    shared_data: Path, tmp_path: Path, tos: int, fires: int
) -> None:
    """Beside Reno in the classic queue, and UDP Prague in that of L4S."""
    captures = []
    for end in "ab":
        recording = (shared_data / f"user-space/mixreno/{end}.pcap.xz").read_bytes()
        made = with_datagrams(lzma.decompress(recording), tos)
        (capture := tmp_path / f"{end}.pcap").write_bytes(made)
        captures.append(str(capture))
    read = pipeline.read(captures, companions=False)
    found = findings(deep_queue.RULE, pipeline.derive(read, strict=True))
    assert [(one.variant, one.severity) for one in found] == [("waits", Severity.WARNING)] * fires
    for one in found:
        assert "The path has a low-latency queue: flow 2 (UDP Prague, ECT(1)) waits" in one.message
