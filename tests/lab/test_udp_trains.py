"""Marks on whole trains: a recorded receiver of RTP, and the same packets marked frame by frame."""

import lzma
import struct
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from l4strace import pipeline
from l4strace.rules.l4s215_trains_share_codepoint import RULE
from tests.support.ends import CLIENT, findings

CE = 3
APART_NS = 4_000_000
"""The sender pauses at least so long between the pictures of its media; the link takes 0.6 ms for
a packet."""


def marked(recording: bytes, mark: Callable[[int, bool], int]) -> bytes:
    """The capture, with the codepoint that ``mark`` makes of time and of a train's begin."""
    data, at, last_ns = bytearray(recording), 24, 0
    while at < len(data):
        seconds, parts, held = struct.unpack_from("<III", data, at)
        ns = seconds * 10**9 + parts
        if data[at + 28 : at + 32] == CLIENT:
            data[at + 17] = data[at + 17] & ~3 | mark(ns, ns - last_ns > APART_NS)
            last_ns = ns
        at += 16 + held
    return bytes(data)


def by_train() -> Callable[[int, bool], int]:
    """Every third train is CE."""
    trains = count()
    now = {"train": 0}

    def mark(_: int, begins: bool) -> int:
        if begins:
            now["train"] = next(trains)
        return CE if now["train"] % 3 == 0 else 1

    return mark


def by_time(ns: int, _: bool) -> int:
    """A queue that is over its threshold for 7 of 30 ms, whatever arrives."""
    return CE if ns % 30_000_000 < 7_000_000 else 1


def found(data: bytes, folder: Path) -> list[Any]:
    (capture := folder / "b.pcap").write_bytes(data)
    read = pipeline.read([str(capture)], companions=False)
    return findings(RULE, pipeline.derive(read, strict=True))


def test_fires_on_recorded_trains_that_are_marked_as_a_whole(
    shared_data: Path, tmp_path: Path
) -> None:
    recording = lzma.decompress((shared_data / "user-space/sc1/b.pcap.xz").read_bytes())
    (one,) = found(marked(recording, by_train()), tmp_path)
    assert "0 have one packet alone CE" in one.message
    assert found(marked(recording, by_time), tmp_path) == []


@pytest.mark.parametrize("run", ["up1", "up8888", "pq1", "qg1", "sc1", "mixup", "mixreno"])
def test_silent_on_every_recorded_receiver(shared_data: Path, tmp_path: Path, run: str) -> None:
    recording = lzma.decompress((shared_data / f"user-space/{run}/b.pcap.xz").read_bytes())
    assert found(recording, tmp_path) == []
