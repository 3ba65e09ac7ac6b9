"""How recorded senders over UDP respond to marks, and the same packets under other feedback."""

import lzma
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from l4strace import pipeline
from l4strace.model import Confidence, Finding
from l4strace.rules.l4s202_no_response_to_ce import RULE
from tests.support.ends import findings

ACK, FEEDBACK = bytes((17,)), bytes((205,))
RECEIVED_AT, CE_AT = 13, 17
"""Counters of UDP Prague's acknowledgement."""
NUMBER_AT, REPORTS_AT = 12, 16
"""RFC 8888: behind RTCP's header, both sources and the numbers."""
STEADY = range(2000, 60_000)
"""Numbers of packets after the start; they begin shortly before they wrap."""
CE = 0x6000
REPORTED = 0x8000


def counted(payload: bytearray) -> None:
    """An acknowledgement that counts three of four packets as CE."""
    if payload[:1] == ACK:
        (received,) = struct.unpack_from(">I", payload, RECEIVED_AT)
        struct.pack_into(">I", payload, CE_AT, received * 3 // 4)


def reported(payload: bytearray) -> None:
    """A report with three of four packets as CE, once the start is over, after which rates fall."""
    if payload[1:2] == FEEDBACK and struct.unpack_from(">H", payload, NUMBER_AT)[0] in STEADY:
        for at in range(REPORTS_AT, len(payload) - 4, 2):
            (report,) = struct.unpack_from(">H", payload, at)
            if report & REPORTED and at // 2 % 4:
                struct.pack_into(">H", payload, at, report | CE)


def judged(
    path: Path, folder: Path, change: Callable[[bytearray], None] = bytearray.copy
) -> list[Finding]:
    """What the sender's capture shows, with what ``change`` makes of each payload."""
    data, at = bytearray(lzma.decompress(path.read_bytes())), 24
    while at < len(data):
        (held,) = struct.unpack_from("<I", data, at + 8)
        payload = data[at + 44 : at + 16 + held]
        change(payload)
        data[at + 44 : at + 16 + held] = payload
        at += 16 + held
    (capture := folder / "a.pcap").write_bytes(data)
    read = pipeline.read([str(capture)], companions=False)
    return findings(RULE, pipeline.derive(read, strict=True))


@pytest.mark.parametrize(
    ("run", "change", "confidence"),
    [("up1", counted, Confidence.MEDIUM), ("sc1", reported, Confidence.LOW)],
)
def test_fires_on_a_recorded_sender_that_goes_on_under_marks(
    shared_data: Path,
    tmp_path: Path,
    run: str,
    change: Callable[[bytearray], None],
    confidence: Confidence,
) -> None:
    path = shared_data / f"user-space/{run}/a.pcap.xz"
    (one,) = judged(path, tmp_path, change)
    assert "this asks any scalable sender for half of its rate" in one.message
    assert one.confidence == confidence
    assert judged(path, tmp_path) == []


@pytest.mark.parametrize("run", ["up8888", "mixup", "mixreno", "upbleach"])
def test_silent_on_every_other_recorded_sender(shared_data: Path, tmp_path: Path, run: str) -> None:
    assert judged(shared_data / f"user-space/{run}/a.pcap.xz", tmp_path) == []
