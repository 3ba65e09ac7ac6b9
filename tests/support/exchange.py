"""A transfer between two honest hosts, as a router's two interfaces or the sender's one show it.

What was sent, lost and marked is known: captures may be read against it. The sender paces, and
retransmits as NewReno does; the receiver acknowledges every so many packets, with AccECN.
"""

from __future__ import annotations

import heapq
import itertools
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.support.files import RAW_IP, enhanced, interface, option, section, timed_pcap

MS = 1_000_000
START_NS = 1_700_000_000 * 1000 * MS
MSS = 1448
SNAPLEN = 128
LINUX_SLL2, FIRST_INDEX = 276, 2
SYN, ACK, ACE_BIT = 0x02, 0x10, 6
DUPLICATES = 3
"""ACKs that show a loss (RFC 5681 section 3.2)."""
CE, ECT1 = 3, 1
IDS = ("zero", "counter", "random", "constant")


@dataclass(frozen=True)
class Plan:
    """What is exchanged, and what the capture shows of it."""

    packets: int = 400
    gap_ns: int = 100_000
    rtt_ns: int = 10 * MS
    queue_ns: Callable[[int], int] = lambda _: 50_000
    """Wait of the n-th packet between the two interfaces."""
    copies: bool = False
    """Both interfaces are captured, and everything is there twice."""
    behind_ns: int = 0
    """How far the clock of the second interface is behind."""
    drift_ppm: int = 0
    """How much slower than the first that clock runs."""
    moves_ns: int = 1 << 62
    """When each interface takes over what the other showed."""
    named: str = ""
    """How the capture names interfaces: not, by number (pcapng) or by index (`any`)."""
    by_arrival: bool = False
    """Packets stand in the order in which they came, not in that of their times."""
    version: int = 4
    ids: str = "counter"
    stamps: bool = True
    sack: bool = True
    ratio: int = 2
    """Packets of one ACK."""
    option: int = 0
    """Kind of the AccECN option, 0 for none."""
    lost: frozenset[int] = frozenset()
    """Packets that are dropped behind the second interface, once each."""
    marked: Callable[[int], bool] = lambda _: False
    """Whether the n-th transmission is marked, behind the second interface."""
    seed: int = 0

    def behind(self, at_ns: int) -> int:
        """How far the clock of the second interface is behind by then."""
        return self.behind_ns + at_ns * self.drift_ppm // 1_000_000


class Frame(NamedTuple):
    """What one interface shows of a packet."""

    came_ns: int
    interface: int
    shown_ns: int
    """The same time by the interface's clock."""
    packet: bytes
    """From the IP header on."""


@dataclass
class Truth:
    """What happened."""

    sent: int = 0
    retransmits: int = 0
    marks: int = 0
    frames: list[Frame] = field(default_factory=list)


class Exchange:
    """Both hosts, by events in order of time."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.truth = plan, Truth()
        self.chance = Random(plan.seed)
        self.events: list[tuple[int, int, Callable[[], None]]] = []
        self.number, self.now = itertools.count(), 0
        self.identity = [1, 30_000]
        self.una, self.next, self.duplicates, self.again = 0, 0, 0, -1
        self.dropped: set[int] = set()
        self.left_ns = 0
        self.received: set[int] = set()
        self.expected, self.pending = 0, 0
        self.recent = [1000, 1000]
        """Last timestamp that each side received."""
        self.bytes = [0, 0]
        """Bytes received as CE, and as ECT(1)."""

    def run(self) -> Truth:
        half = self.plan.rtt_ns // 2
        self._show(0, self._segment(0, SYN | 0x1C0, b"", 0))
        self._show(1, self._segment(1, SYN | ACK | 2 << ACE_BIT, b"", 0), half)
        self._show(0, self._segment(0, ACK | 2 << ACE_BIT, b"", 0), 2 * half)
        for number in range(self.plan.packets):
            self._at(2 * half + 40_000 + number * self.plan.gap_ns, lambda n=number: self._send(n))
        while self.events:
            self.now, _, action = heapq.heappop(self.events)
            action()
        by_arrival = self.plan.by_arrival
        self.truth.frames.sort(key=lambda f: f.came_ns if by_arrival else f.shown_ns)
        return self.truth

    def _at(self, when: int, action: Callable[[], None]) -> None:
        heapq.heappush(self.events, (when, next(self.number), action))

    def _send(self, number: int) -> None:
        truth, plan = self.truth, self.plan
        truth.retransmits += number < self.next
        self.next = max(self.next, number + 1)
        order = truth.sent
        truth.sent += 1
        data = self._segment(0, ACK | 5 << ACE_BIT, bytes(MSS), number, ECT1)
        left = self._show(0, data)
        if number in plan.lost and number not in self.dropped:
            self.dropped.add(number)
            return
        arrives = max(left, self.now) + plan.rtt_ns // 2
        tick = self._tick()
        self._at(arrives, lambda: self._receive(number, tick, plan.marked(order)))

    def _receive(self, number: int, tick: int, marked: bool) -> None:
        self.recent[1] = max(self.recent[1], tick)
        self.truth.marks += marked
        self.bytes[0 if marked else 1] += MSS
        in_order = number == self.expected and not self.received
        self.received.add(number)
        while self.expected in self.received:
            self.received.remove(self.expected)
            self.expected += 1
        self.pending += 1
        last = self.expected == self.plan.packets
        if not in_order or self.pending >= self.plan.ratio or last:
            self._acknowledge()

    def _acknowledge(self) -> None:
        self.pending = 0
        acked, ace = self.expected, (5 + self.truth.marks) & 7
        packet = self._segment(1, ACK | ace << ACE_BIT, b"", acked)
        self._show(1, packet)
        tick = self._tick()
        self._at(self.now + self.plan.rtt_ns // 2, lambda: self._acked(acked, tick))

    def _acked(self, acked: int, tick: int) -> None:
        self.recent[0] = max(self.recent[0], tick)
        if acked > self.una:
            # A partial acknowledgement shows the next loss (RFC 6582).
            partial = acked <= self.again
            self.una, self.duplicates = acked, 0
            if partial and acked < self.next:
                self._send(acked)
            return
        self.duplicates += acked < self.next
        if self.duplicates == DUPLICATES and acked > self.again:
            self.again = self.next - 1
            self._send(acked)

    def _show(self, side: int, packet: bytes, at: int | None = None) -> int:
        """Puts it into the capture; returns when it left the second interface."""
        plan = self.plan
        first = self.now if at is None else at
        wait = plan.queue_ns(self.truth.sent) if side == 0 else 30_000
        second = first + wait
        if side == 0:
            # First in, first out.
            second = self.left_ns = max(second, self.left_ns + 1)
        self._take(first, side, packet)
        if plan.copies:
            self._take(second, 1 - side, packet)
        return second

    def _take(self, came_ns: int, interface: int, packet: bytes) -> None:
        interface ^= came_ns >= self.plan.moves_ns
        shown_ns = came_ns - (self.plan.behind(came_ns) if interface == 1 else 0)
        self.truth.frames.append(Frame(came_ns, interface, shown_ns, packet))

    def _segment(self, side: int, flags: int, data: bytes, number: int, ecn: int = 0) -> bytes:
        seq, ack = (1000, 5000) if side == 0 else (5000, 1000)
        ack += 1
        if not flags & SYN:
            seq += 1
            if side == 0:
                seq += number * MSS
            else:
                ack += number * MSS
        options = self._options(side, flags)
        sport, dport = (40_000, 5201) if side == 0 else (5201, 40_000)
        head = struct.pack(
            ">HHIIHHHH", sport, dport, seq & 0xFFFFFFFF, (ack if flags & ACK else 0) & 0xFFFFFFFF,
            (5 + len(options) // 4) << 12 | flags, 1000 if data else 2000, 0, 0,
        )  # fmt: skip
        return self._ip(side, head + options, data, ecn)

    def _tick(self) -> int:
        return 1000 + self.now // MS

    def _options(self, side: int, flags: int) -> bytes:
        plan, out = self.plan, b""
        if flags & SYN:
            out += b"\x02\x04" + struct.pack(">H", 1460) + b"\x01\x03\x03\x07"
            out += b"\x01\x01\x04\x02" if plan.sack else b""
        if plan.stamps:
            echo = self.recent[side] if flags & ACK else 0
            out += b"\x01\x01\x08\x0a" + struct.pack(">II", self._tick(), echo)
        if plan.option and side == 1 and not flags & SYN:
            counters = (self.bytes[0], 1 + self.bytes[1], 1)
            ceb, e1b, e0b = (struct.pack(">I", n & 0xFFFFFF)[1:] for n in counters)
            ends = (e1b, ceb, e0b) if plan.option == 174 else (e0b, ceb, e1b)
            out += bytes((plan.option, 11)) + b"".join(ends) + b"\x01"
        out += self._blocks() if side == 1 and plan.sack and not flags & SYN else b""
        return out

    def _blocks(self) -> bytes:
        """The last block of what lies behind a hole."""
        if not self.received:
            return b""
        right = max(self.received)
        left = right
        while left - 1 in self.received:
            left -= 1
        edges = (1001 + left * MSS, 1001 + (right + 1) * MSS)
        return b"\x01\x01\x05\x0a" + struct.pack(">II", *edges)

    def _ip(self, side: int, tcp: bytes, data: bytes, ecn: int) -> bytes:
        hosts = (bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))
        size = len(tcp) + len(data)
        if self.plan.version == 6:
            ends = [bytes.fromhex("fd00") + bytes(10) + hosts[side ^ n] for n in (0, 1)]
            return (
                struct.pack(">IHBB", 6 << 28 | ecn << 20, size, 6, 64) + b"".join(ends) + tcp + data
            )
        identity = self._identity(side)
        return struct.pack(
            ">BBHHHBBH4s4s", 0x45, ecn, 20 + size, identity, 0x4000, 64, 6, 0,
            hosts[side], hosts[side ^ 1],
        ) + tcp + data  # fmt: skip

    def _identity(self, side: int) -> int:
        if self.plan.ids == "random":
            return self.chance.randrange(1, 65536)
        self.identity[side] += self.plan.ids == "counter"
        return 0 if self.plan.ids == "zero" else self.identity[side] & 0xFFFF


def exchanged(plan: Plan, path: Path) -> Truth:
    """Writes the capture of an exchange; returns what happened."""
    truth = Exchange(plan).run()
    packets = [(START_NS + f.shown_ns, f.interface, f.packet) for f in truth.frames]
    path.write_bytes(_captured(packets, plan.named))
    return truth


def _captured(packets: list[tuple[int, int, bytes]], named: str) -> bytes:
    if named == "pcapng":
        nanoseconds = option(9, b"\x09")
        head = section() + 2 * interface(RAW_IP, snaplen=SNAPLEN, options=nanoseconds)
        return head + b"".join(enhanced(p[:SNAPLEN], ns, n) for ns, n, p in packets)
    if named == "any":
        cooked = ((ns, _cooked(n, packet)) for ns, n, packet in packets)
        return timed_pcap(cooked, LINUX_SLL2, snaplen=SNAPLEN)
    return timed_pcap(((ns, packet) for ns, _, packet in packets), RAW_IP, snaplen=SNAPLEN)


def _cooked(number: int, packet: bytes) -> bytes:
    """With the header of `-i any` (LINKTYPE_LINUX_SLL2)."""
    kind = 0x0800 if packet[0] >> 4 == 4 else 0x86DD
    return struct.pack(">HHIHBB8x", kind, 0, FIRST_INDEX + number, 1, 0, 6) + packet


def queue(kind: str, most_ns: int, packets: int) -> Callable[[int], int]:
    """Waits of a queue: none, fixed, one that grows, a sawtooth, or one that comes at once."""
    least = 40_000
    return {
        "empty": lambda _: least,
        "fixed": lambda _: most_ns,
        "ramp": lambda n: least + most_ns * min(n, packets) // packets,
        "saw": lambda n: least + most_ns * (n % 97) // 97,
        "step": lambda n: least if n < packets // 3 else most_ns,
    }[kind]


def drawn(chance: Random) -> Plan:
    """Any plan of two honest hosts."""
    packets = chance.choice((300, 500, 800))
    copies = chance.random() < 0.6
    rtt_ns = chance.choice((1, 4, 10, 40)) * MS
    longest = chance.choice((0.3, 1.0, 3.0))
    share = chance.choice((0.0, 0.02, 0.3, 1.0))
    draws = Random(chance.random())
    lost = chance.choice((0, 0, 3, 10))
    return Plan(
        packets=packets,
        gap_ns=chance.choice((20_000, 100_000, 300_000)),
        rtt_ns=rtt_ns,
        queue_ns=queue(
            chance.choice(("empty", "fixed", "ramp", "saw", "step")), int(rtt_ns * longest), packets
        ),
        copies=copies,
        version=chance.choice((4, 6)),
        ids=chance.choice(IDS),
        stamps=chance.random() < 0.7,
        sack=chance.random() < 0.6,
        ratio=chance.choice((1, 2, 3, 8, 16, 17, 32, 64)),
        option=chance.choice((0, 172, 174)),
        lost=frozenset(chance.sample(range(20, packets - 40), lost)),
        marked=lambda _: draws.random() < share,
        seed=chance.randrange(1 << 30),
    )
