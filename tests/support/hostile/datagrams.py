"""Hostile flows over UDP: UDP Prague, RTP with RTCP, QUIC; sound ones, spoilt by chance."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

import dpkt

from tests.support.hostile.texts import damaged

Datagram = tuple[int, bool, int, bytes]
"""Time, whether it goes to the server, codepoint, payload."""
COUNTS = (0, 7, 8, 60, 60, 200)
NUMBERS = (0, 1, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)
ECT1, CE = 1, 3
FEEDBACK, RFC8888 = 205, 11


def odd(chance: Random, sound: int, bits: int = 32) -> int:
    """``sound``, seldom another number."""
    number = chance.choice(NUMBERS) if chance.random() < 0.02 else sound
    return number & ((1 << bits) - 1)


def prague(chance: Random, step_ns: int) -> list[Datagram]:
    """Data, and ACKs of one packet or of a block."""
    made: list[Datagram] = []
    kind, begin = chance.choice((1, 2)), chance.choice((1, 1, 0xFFFFFFF0))
    for n in range(chance.choice(COUNTS)):
        at, number = n * step_ns, odd(chance, begin + n)
        data = struct.pack(">BIII", kind, odd(chance, n), odd(chance, n), number)
        made.append((at, True, chance.choice((ECT1, ECT1, CE)), data + bytes(87)))
        counters = (odd(chance, one) for one in (number, n, n, n, n // 3, 0))
        ack = struct.pack(">B6IB", 17, *counters, 0)
        if chance.random() < 0.3:
            count = chance.choice((0, 1, 8, 700))
            stated = odd(chance, count, 16)
            ack = struct.pack(">BIH", 18, number, stated) + chance.randbytes(2 * count)
        made.append((at + step_ns // 2, False, ECT1, ack))
    return made


def rtp(chance: Random, step_ns: int) -> list[Datagram]:
    """Packets of one source, and reports on them as RFC 8888 and RFC 3550 have them."""
    made: list[Datagram] = []
    begin = chance.choice((0, 65_500))
    for n in range(chance.choice(COUNTS)):
        number = odd(chance, begin + n, 16)
        head = struct.pack(">BBHII", 0x80, 96, number, odd(chance, 90 * n), odd(chance, 7))
        made.append((n * step_ns, True, chance.choice((ECT1, CE)), head + bytes(100)))
        if n % 8 == 7:
            body = chance.choice((_ccfb, _receiver_report))(chance, number)
            words = odd(chance, len(body) // 4, 16)
            kind = FEEDBACK if body[:4] == b"ccfb" else 201
            start = 0x80 | (RFC8888 if kind == FEEDBACK else 1)
            report = struct.pack(">BBH", start, kind, words) + struct.pack(">I", 9) + body[4:]
            made.append((n * step_ns + step_ns // 2, False, 0, report))
    return made


def _ccfb(chance: Random, last: int) -> bytes:
    """Of eight packets, or of as many as it claims (RFC 8888 section 3.1)."""
    count = chance.choice((8, 8, 8, 0, 301))
    begin, stated = odd(chance, last - 7, 16), odd(chance, count, 16)
    reports = b"".join(
        struct.pack(">H", 0x8000 | chance.randrange(4) << 13 | chance.choice((1, 8, 0x1FFF)))
        for _ in range(count + count % 2)
    )
    return b"ccfb" + struct.pack(">IHH", 7, begin, stated) + reports + struct.pack(">I", last)


def _receiver_report(chance: Random, last: int) -> bytes:
    return b"rrrr" + struct.pack(">6I", 7, odd(chance, 0), odd(chance, last), *[odd(chance, 1)] * 3)


def quic(chance: Random, step_ns: int) -> list[Datagram]:
    """Long headers with connection IDs, then short ones."""
    made: list[Datagram] = []
    version, own = chance.choice((1, 0x6B3343CF, 0xFF00001D, 0)), chance.randbytes(8)
    for n in range(chance.choice(COUNTS)):
        length = odd(chance, 8, 8)
        long = struct.pack(">BIB", 0xC0 | chance.randrange(16), odd(chance, version), length)
        short = bytes((0x40 | chance.randrange(32),)) + own
        head = long + own + b"\x00" if n < 4 else short
        made.append((n * step_ns, n % 3 != 2, chance.randrange(4), head + chance.randbytes(80)))
    return made


KINDS: tuple[Callable[[Random, int], list[Datagram]], ...] = (prague, rtp, quic)


def packets(chance: Random, start_ns: int, client: bytes, server: bytes) -> list[tuple[int, bytes]]:
    """Times and IPv4 packets of one flow; a tenth of its payloads damaged in half of them."""
    made = chance.choice(KINDS)(chance, chance.choice((0, 1_000, 1_000_000, 20_000_000)))
    spoilt = chance.random() < 0.5
    found = []
    for at, onward, ecn, sound in made:
        payload = damaged(sound, chance) if spoilt and chance.random() < 0.1 else sound
        ends = (client, server) if onward else (server, client)
        ports = (50_000, 8080) if onward else (8080, 50_000)
        udp = struct.pack(">HHHH", *ports, (8 + len(payload)) & 0xFFFF, 0) + payload
        ip = dpkt.ip.IP(src=ends[0], dst=ends[1], p=17, tos=ecn, data=udp, len=20 + len(udp))
        found.append((start_ns + at, bytes(ip)))
    return found
