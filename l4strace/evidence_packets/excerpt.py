"""The proving packets as one pcapng file: headers only, each with its original frame number.

Payload is cut off, as a snapshot length would: a page is attached to public tickets. The comment of
a packet names the frame and the capture that it comes from and what it shows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

from l4strace.core import _native
from l4strace.evidence import Capture
from l4strace.ingest import file_names
from l4strace.model import ProofPacket
from l4strace.wording.names import short_names

MOST_HEADERS = 512
"""Bytes of headers that are kept: a tunnel with IPv6 and all TCP options has less than 300."""
HEAD_BYTES = 1 << 18
"""Where the interfaces of a pcapng file are looked for: those of all known tools come first."""
UDP_HEADER = 8
"""Bytes of a UDP header (RFC 768)."""
LENGTH_AT = 12
"""Byte of the TCP header that has its length in words (RFC 9293 section 3.1)."""
SECTION, INTERFACE, ENHANCED, SIMPLE, OBSOLETE = 0x0A0D0D0A, 1, 6, 3, 2
"""Types of pcapng blocks (draft-ietf-opsawg-pcapng)."""
COMMENT, USER_APPLICATION, IF_NAME, IF_TSRESOL = 1, 4, 2, 9
PCAP = {
    bytes.fromhex("d4c3b2a1"): ("<", 16),
    bytes.fromhex("4d3cb2a1"): ("<", 16),
    bytes.fromhex("a1b2c3d4"): (">", 16),
    bytes.fromhex("a1b23c4d"): (">", 16),
    bytes.fromhex("34cdb2a1"): ("<", 24),
    bytes.fromhex("a1b2cd34"): (">", 24),
}
"""Magic of a classic pcap file -> its byte order and the bytes of a record header."""
BLOCK_HEADERS = {ENHANCED: 28, OBSOLETE: 28, SIMPLE: 12}


class Raw(NamedTuple):
    """One packet as its capture holds it, payload cut off."""

    packet: ProofPacket
    link_type: int
    data: bytes


def of(capture: Capture, packets: Mapping[int, Iterable[ProofPacket]]) -> bytes:
    """The file; empty where no packet can be cut out."""
    paths = dict(capture.sources.select("source", "path").iter_rows())
    names = dict(zip(paths, short_names([path or "" for path in paths.values()]), strict=True))
    distinct = {(one.source, one.frame): one for each in packets.values() for one in each}
    raw = [
        one
        for source in sorted({source for source, _ in distinct})
        for one in _raw(paths[source], [p for p in distinct.values() if p.source == source])
    ]
    return b"".join(_blocks(raw, names)) if raw else b""


def _raw(path: str, packets: list[ProofPacket]) -> Iterator[Raw]:
    """The packets of one capture, read at their offsets."""
    ordered = sorted(packets, key=lambda packet: packet.offset)
    spans = [(0, HEAD_BYTES)]
    spans += [(p.offset, p.offset + BLOCK_HEADERS[ENHANCED] + _read_bytes(p)) for p in ordered]
    head, *records = _read(path, spans)
    for packet, record in zip(ordered, records, strict=True):
        if (found := _record(head, record)) is not None:
            link_type, data = found
            yield Raw(packet, link_type, _headers(packet, data[: _read_bytes(packet)]))


def _read_bytes(packet: ProofPacket) -> int:
    return min(packet.captured_bytes, MOST_HEADERS)


def _headers(packet: ProofPacket, data: bytes) -> bytes:
    """``data`` up to the end of the TCP or UDP header; nothing where it has none.

    Lengths do not show where that is: a tool that cuts packets may have lost the original length,
    padding may follow the payload, and the last fragment of a packet has the length of its own.
    """
    begin = data.find(packet.header)
    if begin < 0:
        return b""
    if packet.tcp_flags is None:
        return data[: begin + UDP_HEADER]
    words = data[begin + LENGTH_AT :][:1]
    return data[: begin + (words[0] >> 4) * 4] if words else data


def _read(path: str, spans: list[tuple[int, int]]) -> list[bytes]:
    """The decompressed bytes of each span; ``spans`` are sorted by their start."""
    chunks = _native.read_text(file_names.opened(path))
    if chunks.compression is None:
        with Path(file_names.opened(path)).open("rb") as file:
            return [_between(file, start, end) for start, end in spans]
    found = [bytearray() for _ in spans]
    position = 0
    for chunk in chunks:
        after = position + len(chunk)
        for span, held in zip(spans, found, strict=True):
            start, end = max(span[0], position), min(span[1], after)
            if start < end:
                held += chunk[start - position : end - position]
        position = after
        if position >= spans[-1][1]:
            break
    return [bytes(held) for held in found]


def _between(file: BinaryIO, start: int, end: int) -> bytes:
    file.seek(start)
    return file.read(end - start)


def _record(head: bytes, record: bytes) -> tuple[int, bytes] | None:
    """Link type and bytes of one record; null where the file's head does not show the link type."""
    if (classic := PCAP.get(head[:4])) is not None:
        order, header = classic
        # The upper bits hold the length of the frame check sequence.
        return struct.unpack_from(f"{order}I", head, 20)[0] & 0xFFFF, record[header:]
    order = "<" if head[8:12] == bytes.fromhex("4d3c2b1a") else ">"
    if len(record) < BLOCK_HEADERS[ENHANCED]:
        return None
    (kind,) = struct.unpack_from(f"{order}I", record)
    number = {
        ENHANCED: struct.unpack_from(f"{order}I", record, 8)[0],
        OBSOLETE: struct.unpack_from(f"{order}H", record, 8)[0],
    }.get(kind, 0)
    link_types = list(_interfaces(head, order))
    if kind not in BLOCK_HEADERS or number >= len(link_types):
        return None
    return link_types[number], record[BLOCK_HEADERS[kind] :]


def _interfaces(head: bytes, order: str) -> Iterator[int]:
    """Link types of the interfaces that come before the first packet, or the next section."""
    at = 0
    while at + 12 <= len(head):
        kind, size = struct.unpack_from(f"{order}II", head, at)
        if size < 12 or kind in BLOCK_HEADERS or (kind == SECTION and at):
            return
        if kind == INTERFACE:
            yield struct.unpack_from(f"{order}H", head, at + 8)[0]
        at += size


def _blocks(raw: list[Raw], names: Mapping[int, str]) -> Iterator[bytes]:
    """A section, an interface per capture and link type, the packets in the order of time."""
    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    yield _block(SECTION, section + _options({USER_APPLICATION: b"l4strace"}))
    interfaces = {(one.packet.source, one.link_type): 0 for one in raw}
    for number, (source, link_type) in enumerate(interfaces):
        interfaces[source, link_type] = number
        options = {IF_NAME: _text(names[source]), IF_TSRESOL: b"\x09"}
        yield _block(INTERFACE, struct.pack("<HHI", link_type, 0, 0) + _options(options))
    for one in sorted(raw, key=lambda one: (one.packet.ts_ns, one.packet.source, one.packet.frame)):
        packet = one.packet
        ticks = packet.ts_ns & ((1 << 64) - 1)
        number = interfaces[packet.source, one.link_type]
        sizes = number, ticks >> 32, ticks & 0xFFFFFFFF, len(one.data), packet.wire_bytes
        comment = f"frame {packet.frame} of {names[packet.source]}: {packet.shows}"
        body = struct.pack("<IIIII", *sizes) + _padded(one.data)
        yield _block(ENHANCED, body + _options({COMMENT: _text(comment)}))


def _text(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _options(options: Mapping[int, bytes]) -> bytes:
    coded = (struct.pack("<HH", code, len(v)) + _padded(v) for code, v in options.items())
    return b"".join(coded) + struct.pack("<HH", 0, 0)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _block(kind: int, body: bytes) -> bytes:
    size = len(body) + 12
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size)
