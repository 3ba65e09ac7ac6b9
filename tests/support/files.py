"""Writes capture files byte by byte, so that tests say what is in them."""

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from l4strace.core import _native
from l4strace.schema import TABLES

ETHERNET = 1
RAW_IP = 101
MICROSECONDS, NANOSECONDS, MODIFIED = 0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34


def pcap(
    frames: Sequence[bytes],
    link_type: int = ETHERNET,
    magic: int = NANOSECONDS,
    order: str = "<",
    snaplen: int = 262_144,
    start_ns: int = 1_700_000_000_000_000_000,
) -> bytes:
    """A classic capture; packets come one millisecond apart and are cut to ``snaplen``."""
    stamped = [(start_ns + number * 1_000_000, frame) for number, frame in enumerate(frames)]
    return timed_pcap(stamped, link_type, magic, order, snaplen)


def timed_pcap(
    packets: Iterable[tuple[int, bytes]],
    link_type: int = ETHERNET,
    magic: int = NANOSECONDS,
    order: str = "<",
    snaplen: int = 262_144,
) -> bytes:
    """A classic capture of packets with their stamps (ns)."""
    unit = 1 if magic == NANOSECONDS else 1000
    out = bytearray(struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, link_type))
    for ts_ns, frame in packets:
        seconds, rest = divmod(ts_ns, 1_000_000_000)
        kept = frame[:snaplen]
        out += struct.pack(order + "IIII", seconds, rest // unit, len(kept), len(frame))
        if magic == MODIFIED:
            out += struct.pack(order + "IHBB", 1, 0x0800, 0, 0)
        out += kept
    return bytes(out)


def option(code: int, value: bytes, order: str = "<") -> bytes:
    """One pcapng option, padded."""
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    """One pcapng block."""
    body += bytes(-len(body) % 4)
    return (
        struct.pack(order + "II", kind, len(body) + 12)
        + body
        + struct.pack(order + "I", len(body) + 12)
    )


def section(order: str = "<", comment: str = "") -> bytes:
    """A section header block."""
    body = struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)
    return block(0x0A0D0D0A, body + (option(1, comment.encode(), order) if comment else b""), order)


def interface(
    link_type: int = ETHERNET, order: str = "<", snaplen: int = 0, options: bytes = b""
) -> bytes:
    """An interface description block."""
    return block(1, struct.pack(order + "HHI", link_type, 0, snaplen) + options, order)


def enhanced(
    frame: bytes, ticks: int, number: int = 0, order: str = "<", options: bytes = b""
) -> bytes:
    """An enhanced packet block."""
    body = struct.pack(
        order + "IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), len(frame)
    )
    return block(6, body + frame + bytes(-len(frame) % 4) + options, order)


def zst(content: bytes) -> bytes:
    """The bytes as one frame of zstd."""
    packer = _native.Packer("zst")
    return packer.add(content) + packer.finish()


def packets(path: Path, frames: int | None = None) -> pl.DataFrame:
    """Rows of the `packets` table of one capture, of its first ``frames`` frames."""
    batches = []
    for batch in _native.packets(str(path)):
        batches.append(pl.DataFrame(batch))
        if frames and batches[-1]["frame"][-1] >= frames:
            break
    table = pl.concat(batches) if batches else TABLES["packets"].empty()
    return table.filter(pl.col("frame") <= frames) if frames else table
