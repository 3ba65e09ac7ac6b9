"""Hostile captures: pcapng with strings in every option, a flow that the hostile logs name.

In half of them a flow over UDP lies beside it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from random import Random

import dpkt

from tests.support.hostile import datagrams
from tests.support.hostile.logs import START_NS
from tests.support.hostile.texts import TEXTS, damaged

CLIENT, SERVER = bytes((10, 77, 1, 2)), bytes((10, 77, 3, 2))
PORTS = (46922, 5201)
SECTION, INTERFACE, ENHANCED, STATISTICS, NAMES = 0x0A0D0D0A, 1, 6, 5, 4
COMMENT, HARDWARE, SYSTEM, PROGRAM = 1, 2, 3, 4
NAME, DESCRIPTION, RESOLUTION = 2, 3, 9


def one(seed: str) -> bytes:
    """A capture; two in three are damaged as bytes."""
    chance = Random(seed)
    beside = Random(f"over UDP {seed}")
    over_udp = datagrams.packets(beside, START_NS, CLIENT, SERVER) if beside.random() < 0.5 else []
    data = pcapng(chance, over_udp)
    return damaged(data, chance) if chance.random() < 0.66 else data


def pcapng(chance: Random, over_udp: Sequence[tuple[int, bytes]] = ()) -> bytes:
    """One section, one or two interfaces, some tens of packets of one flow."""
    text = chance.choice
    out = block(
        SECTION,
        struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1),
        [(COMMENT, text(TEXTS)), (HARDWARE, text(TEXTS)), (SYSTEM, text(TEXTS)),
         (PROGRAM, text(TEXTS))],
    )  # fmt: skip
    for _ in range(chance.choice((1, 1, 2))):
        options = [(NAME, text(TEXTS)), (DESCRIPTION, text(TEXTS)), (RESOLUTION, b"\x09")]
        out += block(INTERFACE, struct.pack("<HHI", 101, 0, 0), options)
    for ns, packet in [*packets(chance), *over_udp]:
        fixed = struct.pack("<IIIII", 0, ns >> 32, ns & 0xFFFFFFFF, len(packet), len(packet))
        comment = [(COMMENT, text(TEXTS))] if chance.random() < 0.05 else []
        out += block(ENHANCED, fixed + packet + bytes(-len(packet) % 4), comment)
    dropped = struct.pack("<Q", chance.choice((0, 5, 2**64 - 1)))
    out += block(STATISTICS, struct.pack("<III", 0, 0, 0), [(5, dropped), (COMMENT, text(TEXTS))])
    return out


def block(kind: int, body: bytes, options: list[tuple[int, str | bytes]]) -> bytes:
    """A pcapng block with its options; texts are cut at 60 kB."""
    for code, value in options:
        raw = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
        raw = raw[:60_000]
        body += struct.pack("<HH", code, len(raw)) + raw + bytes(-len(raw) % 4)
    body += bytes(4) if options else b""
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def packets(chance: Random) -> list[tuple[int, bytes]]:
    """Times and datagrams: a handshake, then data and ACKs with odd numbers here and there."""
    made = []
    ns, seq, acked = START_NS + 1_000_000_000, 1, 1
    step = chance.choice((0, 1_000, 1_000_000, 10_000_000))
    if chance.random() < 0.7:
        made += [
            (ns, segment(True, 0, 0, 0xC2, 0, 0, 0x1)),
            (ns + step, segment(False, 0, 1, 0x52, 0, 0, 0x1)),
            (ns + 2 * step, segment(True, 1, 1, 0x10, 0, 1, 0)),
        ]
    for i in range(chance.choice((0, 3, 60))):
        ns += step
        odd = chance.random() < 0.05
        number = chance.randrange(2**32) if odd else seq
        made.append((ns, segment(True, number, 1, 0x10, 100, chance.choice((1, 1, 3)), 0)))
        seq = (seq + 100) % 2**32
        if i % 2:
            acked = chance.randrange(2**32) if chance.random() < 0.05 else seq
            late = ns + step // 2 if chance.random() < 0.9 else chance.randrange(2**62)
            flags = 0x10 | chance.randrange(4) << 6
            made.append((late, segment(False, 1, acked, flags, 0, 0, chance.randrange(2))))
    return made


def segment(
    forward: bool, seq: int, ack: int, flags: int, length: int, ecn: int, accurate: int
) -> bytes:
    """One IPv4 datagram with a TCP segment; ``accurate`` is the flag AE."""
    source, target = (CLIENT, SERVER) if forward else (SERVER, CLIENT)
    sport, dport = PORTS if forward else PORTS[::-1]
    header = struct.pack(">HHIIBBHHH", sport, dport, seq, ack, 5 << 4 | accurate, flags, 9999, 0, 0)
    return bytes(
        dpkt.ip.IP(src=source, dst=target, p=6, tos=ecn, ttl=60, data=header + bytes(length))
    )
