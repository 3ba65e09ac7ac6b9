"""Senders with DSCP 45 (NQB): a recorded one, and the same packets sent picture by picture."""

import lzma
import struct
from pathlib import Path

from l4strace import pipeline
from l4strace.model import Finding
from l4strace.rules.l4s206_burst_too_long import RULE
from l4strace.schema.words import NQB
from tests.support.ends import CLIENT, findings

APART_NS = 4_000_000
"""The sender pauses at least so long between the pictures of its media."""
CLOSE_NS = 20_000
"""A network card of 500 Mbit/s takes so long for a packet."""


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
