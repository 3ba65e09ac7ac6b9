"""Capture file formats: what a file says is what the tables say."""

import gzip
import lzma
import os
import struct
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest

from l4strace.core import _native
from l4strace.ingest import load
from tests.support import files
from tests.support.wrappings import FRAME, SEGMENT, cooked, ethernet, outer_v4

TIME = 1_700_000_000_123_456_789


def _rows(tmp_path: Path, content: bytes) -> list[dict[str, object]]:
    path = tmp_path / "made.pcap"
    path.write_bytes(content)
    return files.packets(path).to_dicts()


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("magic", [files.MICROSECONDS, files.NANOSECONDS, files.MODIFIED])
def test_classic_pcap_in_every_dialect(tmp_path: Path, magic: int, order: str) -> None:
    content = files.pcap([FRAME, FRAME], magic=magic, order=order, start_ns=TIME)
    exact = TIME if magic == files.NANOSECONDS else TIME // 1000 * 1000
    rows = _rows(tmp_path, content)
    assert [row["ts_ns"] for row in rows] == [exact, exact + 1_000_000]
    assert [row["payload_len"] for row in rows] == [100, 100]
    assert rows[0]["offset"] == 24


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("code", "ticks", "expected"),
    [
        (6, TIME // 1000, TIME // 1000 * 1000),
        (9, TIME, TIME),
        (3, TIME // 1_000_000, TIME // 1_000_000 * 1_000_000),
        (0x80 | 20, 5 << 19, 2_500_000_000),
    ],
)
def test_pcapng_time_resolution(
    tmp_path: Path, code: int, ticks: int, expected: int, order: str
) -> None:
    described = files.interface(order=order, options=files.option(9, bytes([code]), order))
    content = files.section(order) + described + files.enhanced(FRAME, ticks, order=order)
    assert [row["ts_ns"] for row in _rows(tmp_path, content)] == [expected]


def test_pcapng_time_offset(tmp_path: Path) -> None:
    options = files.option(9, bytes([9])) + files.option(14, struct.pack("<q", -3600))
    content = files.section() + files.interface(options=options) + files.enhanced(FRAME, TIME)
    assert _rows(tmp_path, content)[0]["ts_ns"] == TIME - 3600 * 10**9


def test_pcapng_sections_and_interfaces_of_their_own(tmp_path: Path) -> None:
    nano = files.option(9, bytes([9]))
    first = files.section() + files.interface(options=nano) + files.enhanced(FRAME, 5)
    two = files.interface(1, ">") + files.interface(113, ">")
    datagram = FRAME[14:]
    second = files.section(">") + two + files.enhanced(cooked(datagram), 7, 1, ">")
    rows = _rows(tmp_path, first + second)
    assert [(row["frame"], row["ts_ns"], row["ip_ecn"]) for row in rows] == [
        (1, 5, 1),
        (2, 7000, 1),
    ]


def test_pcapng_simple_and_obsolete_packet_blocks(tmp_path: Path) -> None:
    described = files.section() + files.interface(snaplen=60)
    obsolete = struct.pack("<HHIIII", 0, 3, 0, 9, len(FRAME), len(FRAME)) + FRAME
    simple = struct.pack("<I", len(FRAME)) + FRAME[:60]
    rows = _rows(tmp_path, described + files.block(2, obsolete) + files.block(3, simple))
    assert [row["ts_ns"] for row in rows] == [9000, 9000]
    assert [row["captured_len"] for row in rows] == [len(FRAME), 60]
    assert [row["payload_len"] for row in rows] == [100, 100]


@pytest.mark.parametrize("suffix", ["", "gz", "xz", "zst"])
def test_compressed_files_read_the_same(tmp_path: Path, suffix: str) -> None:
    plain = tmp_path / "run.pcap"
    plain.write_bytes(files.pcap([FRAME] * 500))
    packed = tmp_path / f"run.pcap.{suffix}" if suffix else plain
    if suffix == "gz":
        # Two members, as concatenated or rotated files have them.
        content = plain.read_bytes()
        packed.write_bytes(gzip.compress(content[:1000]) + gzip.compress(content[1000:]))
    elif suffix == "xz":
        packed.write_bytes(lzma.compress(plain.read_bytes()))
    elif suffix == "zst":
        packed.write_bytes(files.zst(plain.read_bytes()))
    assert _native.decode(str(packed)) == 500
    assert b"".join(_native.read_text(str(packed))) == plain.read_bytes()


def test_standard_input_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "run.pcap"
    path.write_bytes(files.pcap([FRAME] * 500))
    program = "from l4strace.core import _native; print(_native.decode('-'))"
    with path.open("rb") as pipe:
        done = subprocess.run(
            [sys.executable, "-c", program], stdin=pipe, capture_output=True, text=True, check=True
        )
    assert done.stdout.strip() == "500"


def test_packets_larger_than_the_buffer_are_skipped_over(tmp_path: Path) -> None:
    huge = FRAME + bytes(600_000)
    rows = _rows(tmp_path, files.pcap([huge, FRAME, huge], snaplen=10**6))
    assert [row["captured_len"] for row in rows] == [len(huge), len(FRAME), len(huge)]


def test_an_ip_length_of_zero_is_a_super_packet(tmp_path: Path) -> None:
    frame = bytearray(ethernet(outer_v4(6, SEGMENT + bytes(70_000 - 40 - 5000), 1)[:65_000]))
    frame[16:18] = b"\0\0"
    (row,) = _rows(tmp_path, files.pcap([bytes(frame)]))
    assert row["payload_len"] == len(frame) - 14 - 40


def test_fragments_make_one_packet_or_are_counted(tmp_path: Path) -> None:
    payload = bytes(3000)
    pieces = [(0, 1480, True), (1480, 1480, True), (2960, 60, False)]
    whole = SEGMENT[:20] + payload
    frames = [fragment(whole[at : at + size], at, more) for at, size, more in pieces]
    (row,) = _rows(tmp_path, files.pcap(frames))
    assert (row["frame"], row["payload_len"]) == (3, 3000)
    path = tmp_path / "part.pcap"
    path.write_bytes(files.pcap(frames[:2] + frames[:1]))
    tables = _native.track([str(path)])
    assert pl.DataFrame(tables["flows"]).is_empty()
    stats = pl.DataFrame(tables["stats"])
    assert stats.select("name", "count").rows() == [("ip_fragments", 3)]


def fragment(data: bytes, at: int, more: bool) -> bytes:
    packet = bytearray(outer_v4(6, data, 1))
    packet[4:6] = b"\x00\x07"
    packet[6:8] = ((0x2000 if more else 0) | at // 8).to_bytes(2, "big")
    return ethernet(bytes(packet))


def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "run.fifo"
    os.mkfifo(pipe)
    content = files.pcap([FRAME] * 500)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    capture = load.load([str(pipe)])
    writer.join()
    assert capture.sources["tcp_packets"].to_list() == [500]
