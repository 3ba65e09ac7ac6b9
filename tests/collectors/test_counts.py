"""What the file holds is what is said of it (packets received and not written are dropped)."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import pytest

from l4strace.rules import l4s001_truncated_capture
from packets import capture, copying, loopback, pcapng

FRAME = bytes(60)


def written(path: Path, packets: int, torn: int = 0) -> int:
    """An open capture with so many packets, the last of them torn."""
    data = pcapng.section() + pcapng.interface("eth0", 1, 128, "")
    data += b"".join(pcapng.packet(0, n, 60, FRAME) for n in range(packets))
    path.write_bytes(data[: len(data) - torn])
    return os.open(path, os.O_RDWR)


def settled(path: Path, said: dict[str, Any], packets: int, torn: int = 0) -> dict[str, Any]:
    given = argparse.Namespace(output_fd=written(path, packets, torn), ring=None)
    capture.settle(given, said)
    return said


def result(packets: int, received: int, dropped: int, damaged: bool = False) -> dict[str, Any]:
    counts = {"eth0": {"received": received, "dropped": dropped}}
    said = {"packets": packets, "interfaces": counts, "ended": "signal", "files": []}
    return said | {"damaged": damaged}


@pytest.mark.parametrize(
    ("received", "dropped", "expected"), [(20, 0, 0), (144, 0, 124), (144, 200, 200)]
)
def test_what_was_received_and_not_written_is_dropped(
    tmp_path: Path, received: int, dropped: int, expected: int
) -> None:
    said = settled(tmp_path / "x", result(20, received, dropped), 20)
    assert said["packets"] == 20
    assert said["interfaces"]["eth0"]["dropped"] == expected
    assert said["ended"] == "signal"


def test_fewer_on_the_disk_than_said_is_an_error(tmp_path: Path) -> None:
    said = settled(tmp_path / "x", result(827, 827, 0), 260)
    assert said["packets"] == 260
    assert said["ended"] == "567 packets did not reach the disk: is it full?"
    assert said["ended"] not in capture.AS_ASKED
    assert said["interfaces"]["eth0"]["dropped"] == 567


def test_a_torn_packet_is_cut_and_not_counted(tmp_path: Path) -> None:
    said = settled(tmp_path / "x", result(5, 5, 0, damaged=True) | {"ended": "disk full"}, 5, 7)
    assert said["packets"] == 4
    assert said["cut_bytes"] > 0
    assert said["interfaces"]["eth0"]["dropped"] == 1


def test_the_statistics_in_the_file_count_what_was_left_in_the_kernel(tmp_path: Path) -> None:
    """tcpdump ends with packets of its buffer unread: received, not dropped, not written."""

    class Source:
        received, dropped = 144_761, 0

    output = os.open(tmp_path / "x", os.O_RDWR | os.O_CREAT)
    given = argparse.Namespace(ring=None, output_fd=output, count=None, snaplen=128, filter="")
    writer = copying.Writer(given)
    writer.open([("eth0", 1)])
    for number in range(100):
        writer.add(0, pcapng.packet(0, number, 60, FRAME))
    writer.flush()
    found = copying.totals(Source, writer, 0)
    assert found == {"received": 144_761, "dropped": 144_661}


def test_a_count_stops_at_the_packet(tmp_path: Path) -> None:
    output = os.open(tmp_path / "x", os.O_RDWR | os.O_CREAT)
    given = argparse.Namespace(ring=None, output_fd=output, count=7, snaplen=128, filter="")
    writer = copying.Writer(given)
    writer.open([("eth0", 1)])
    for number in range(20):
        writer.add(0, pcapng.packet(0, number, 60, FRAME))
    writer.flush()
    assert writer.full()
    assert pcapng.walk(output)[1] == 7


def test_a_piece_of_a_ring_keeps_its_size_however_much_comes_at_once(tmp_path: Path) -> None:
    given = argparse.Namespace(
        ring=1, pieces=str(tmp_path), output_fd=-1, count=None, snaplen=128, filter=""
    )
    writer = copying.Writer(given)
    writer.open([("eth0", 1)])
    for number in range(20_000):
        writer.add(0, pcapng.packet(0, number, 60, FRAME))
    writer.flush()
    assert writer.packets == 20_000
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert len(sizes) == copying.RING_FILES
    assert max(sizes) <= writer.limit + len(pcapng.packet(0, 1, 60, FRAME))


def test_the_walk_crosses_its_buffer(tmp_path: Path) -> None:
    output = written(tmp_path / "x", 20_000)
    whole, packets, interfaces = pcapng.walk(output)
    assert (packets, interfaces) == (20_000, 1)
    assert whole == os.fstat(output).st_size > 1 << 20


def test_a_ring_counts_what_it_still_holds(tmp_path: Path, monkeypatch) -> None:
    """Lab run: 9,486 packets were said to be written, 7,566 were there."""
    monkeypatch.setattr(capture, "join", lambda _files, _output: None)
    said = result(20, 20, 0)
    said["interfaces"]["eth0"]["written"] = 20
    capture.settle(argparse.Namespace(output_fd=written(tmp_path / "x", 3), ring=1), said)
    assert (said["packets"], said["seen"]) == (3, 20)
    assert said["interfaces"]["eth0"] == {"received": 20, "dropped": 0}
    monkeypatch.setattr(capture, "COUNTED_BYTES", 10)
    said = result(20, 20, 0)
    capture.settle(argparse.Namespace(output_fd=written(tmp_path / "y", 3), ring=1), said)
    assert ("packets" in said, said["seen"]) == (False, 20)


def test_a_ring_that_does_not_fit_is_an_error(tmp_path: Path, monkeypatch) -> None:
    given = argparse.Namespace(output_fd=written(tmp_path / "x", 3, 7), ring=1)
    monkeypatch.setattr(capture, "join", lambda _files, _output: "No space left on device")
    said = result(20, 20, 0)
    capture.settle(given, said)
    assert (said["packets"], said["ended"]) == (2, "No space left on device")


def test_the_loopback_interface_hands_each_packet_on_once() -> None:
    """Of 200 packets that libpcap received there, 100 were written, and 100 "dropped"."""
    assert loopback.once("lo", 200) == 100
    assert loopback.once("no-such-interface", 200) == 200


def test_what_ends_a_recording_as_asked_is_the_same_for_the_rule() -> None:
    assert l4s001_truncated_capture.AS_ASKED == capture.AS_ASKED
