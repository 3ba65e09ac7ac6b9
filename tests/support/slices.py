"""Many small runs that differ: stretches of real captures; and runs that no sweep can finish."""

from __future__ import annotations

import lzma
import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from tests.support.places import FIXTURES

FILE_HEADER = 24
RECORD_HEADER = 16
ETHERNET = bytes(12) + b"\x08\x00"


def runs(folder: Path, number: int, chance: Random, sources: Sequence[Path] = ()) -> None:
    """``number`` captures of 300 to 3,000 packets, each cut out of one of ``sources``."""
    known = sources or sorted(FIXTURES.glob("*/*.pcap.xz"))
    for place, source in enumerate(known):
        data = lzma.decompress(source.read_bytes())
        starts = _records(data)
        for run in range(place, number, len(known)):
            length = chance.randint(300, 3000)
            first = chance.randrange(max(1, len(starts) - length))
            last = min(first + length, len(starts) - 1)
            name = f"r{run:04d}-{source.parent.name}-from{first}-take{length}.pcap"
            stretch = data[starts[first] : starts[last]]
            (folder / name).write_bytes(data[:FILE_HEADER] + stretch)


def _records(data: bytes) -> list[int]:
    """Where the records of a pcap start."""
    starts, at = [], FILE_HEADER
    while at + RECORD_HEADER <= len(data):
        starts.append(at)
        at += RECORD_HEADER + int.from_bytes(data[at + 8 : at + 12], "little")
    return starts


def sparse(path: Path, size: int = 5 << 30) -> None:
    """Gigabytes of zeros behind the header of a pcap; they take no room on disk."""
    path.write_bytes(_header())
    os.truncate(path, size)


def flows(path: Path, number: int) -> None:
    """As many connections with data, each of which takes some 10 kB while it is analyzed."""
    with path.open("wb") as file:
        file.write(_header())
        for i in range(number):
            file.writelines(_connection(i))


def _header() -> bytes:
    return struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 1)


def _connection(number: int) -> Iterator[bytes]:
    client, server = b"\x0a" + number.to_bytes(3, "big"), bytes((192, 0, 2, 1))
    seconds = number // 1000
    steps = [(True, 0, 0, 0x02, 0), (False, 0, 1, 0x12, 0), (True, 1, 1, 0x10, 0)]
    steps += [(True, 1 + 1000 * k, 1, 0x18, 1000) for k in range(4)]
    steps += [(False, 1, 1 + 1000 * k, 0x10, 0) for k in range(1, 5)]
    for k, (forward, seq, ack, flags, payload) in enumerate(steps):
        source, target = (client, server) if forward else (server, client)
        ports = (40_000, 5201) if forward else (5201, 40_000)
        tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 0x50, flags, 65_535, 0, 0)
        total = 40 + payload
        ip = struct.pack(">BBHHHBBH", 0x45, 1, total, 0, 0, 64, 6, 0) + source + target
        packet = ETHERNET + ip + tcp
        nanoseconds = number % 1000 * 1_000_000 + k * 50_000
        record = struct.pack("<IIII", seconds, nanoseconds, len(packet), 14 + total)
        yield record + packet
