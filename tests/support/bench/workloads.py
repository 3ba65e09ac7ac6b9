"""The inputs of the benchmark in the shapes of real traffic, made from the fixtures."""

import lzma
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from l4strace.core import _native
from tests.support.bench import shapes
from tests.support.bench.records import HEADER, records
from tests.support.places import FIXTURES

SHORT = 100
"""Packets of a short flow: handshake and the first round trips."""
RUNS, RUN_PACKETS = 200, 1000
"""Of a sweep."""
COMPRESSORS = {"gz": ["gzip", "-1"], "xz": ["xz", "-0"], "zst": ["zstd", "-q"]}
PACKED_PART = 10
"""A tenth of the packets is enough to compare compressed inputs."""


@dataclass(frozen=True)
class Workload:
    """Files that one command reads, and the packets in them."""

    name: str
    packets: int
    paths: tuple[Path, ...]


def captured(fixture: str) -> bytes:
    """A capture of the fixtures."""
    return lzma.decompress((FIXTURES / fixture).read_bytes())


def cut(data: bytes, packets: int) -> bytes:
    """The first packets of a capture."""
    ends = [record.end for _, record in zip(range(packets), records(data), strict=False)]
    return data[: ends[-1] if ends else HEADER]


def made(folder: Path, packets: int) -> Iterator[Workload]:
    """Every workload of `diagnose`; one at a time is in ``folder``, real traffic first to last."""
    misfire = cut(captured("misfire/misfire.pcap.xz"), packets)
    clean = captured("accecn-clean/sender.pcap.xz")
    real = folder / "real.pcap"
    shapes.repeated(misfire, packets, real)
    yield Workload("real", packets, (real,))
    yield from _compressed(misfire, packets // PACKED_PART, folder)
    real.unlink()
    for name, data, write in (
        ("one flow", cut(clean, packets), shapes.continued),
        ("short flows", cut(clean, SHORT), shapes.repeated),
        ("mix", shapes.mixed(cut(misfire, packets // shapes.OTHERS)), shapes.repeated),
    ):
        path = folder / f"{name.replace(' ', '-')}.pcap"
        write(data, packets, path)
        yield Workload(name, packets, (path,))
        path.unlink()
    yield from _events(misfire, packets // PACKED_PART, folder)
    yield from ends(clean, packets // 2, folder)


def _events(misfire: bytes, packets: int, folder: Path) -> Iterator[Workload]:
    """The run with the kernel's trace events as text: kprobes of Prague, and tcp_probe."""
    capture, log, clock = (folder / f"run.{end}" for end in ("pcap", "trace.txt", "clock.txt"))
    copies = shapes.repeated(misfire, packets, capture)
    lines = _unpacked("misfire/misfire.trace.txt.zst").splitlines(keepends=True)
    with log.open("w") as out:
        out.writelines(shapes.repeated_events(lines, shapes.period_s(misfire), copies))
    shutil.copy(FIXTURES / "misfire" / "misfire.clock.txt", clock)
    yield Workload("trace events", packets, (capture, log))
    for path in (capture, log, clock):
        path.unlink()


def _unpacked(fixture: str) -> str:
    """A text of the fixtures."""
    return b"".join(_native.read_text(str(FIXTURES / fixture))).decode()


def _compressed(data: bytes, packets: int, folder: Path) -> Iterator[Workload]:
    plain = folder / "packed.pcap"
    shapes.repeated(data, packets, plain)
    yield Workload("plain, a tenth", packets, (plain,))
    for ending, command in COMPRESSORS.items():
        if shutil.which(command[0]):
            path = folder / f"packed.pcap.{ending}"
            with path.open("wb") as out:
                subprocess.run([*command, "-c", str(plain)], stdout=out, check=True)
            yield Workload(f"{ending}, a tenth", packets, (path,))
            path.unlink()
    plain.unlink()


def ends(clean: bytes, packets: int, folder: Path) -> Iterator[Workload]:
    """The same traffic seen at its sender, with the kernel's log, and at both ends."""
    sender, receiver, log = (
        folder / name for name in ("sender.pcap", "receiver.pcap", "sender.kernel.ndjson")
    )
    copies = shapes.repeated(clean, packets, sender)
    lines = _unpacked("accecn-clean/sender.kernel.ndjson.zst").splitlines()
    with log.open("w") as out:
        for line in shapes.repeated_log(lines, shapes.period_s(clean), copies):
            out.write(line + "\n")
    yield Workload("kernel log", packets, (sender, log))
    log.unlink()
    other = captured("accecn-clean/receiver.pcap.xz")
    if shapes.period_s(other) != shapes.period_s(clean):
        raise ValueError("both ends repeat after the same time, or they are no two ends")
    shapes.repeated(other, packets, receiver)
    yield Workload("both ends", 2 * packets, (sender, receiver))
    sender.unlink()
    receiver.unlink()


def sweep(folder: Path, runs: int = RUNS) -> Path:
    """A folder of runs with a capture each, no two alike."""
    found = folder / "runs"
    found.mkdir()
    misfire = cut(captured("misfire/misfire.pcap.xz"), RUN_PACKETS)
    for run in range(runs):
        own = bytearray(misfire)
        for record in records(misfire):
            (second,) = struct.unpack_from("<I", own, record.start)
            struct.pack_into("<I", own, record.start, second + run)
        (found / f"run-{run:03}.pcap").write_bytes(own)
    return found


def scale() -> int:
    """Packets of the largest inputs: BENCH_PACKETS, by default 10 million."""
    return int(os.environ.get("BENCH_PACKETS", "10000000"))
