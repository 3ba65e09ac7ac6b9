"""Captures in the shape of real traffic: a recorded run, repeated with shifted times and ports."""

import json
import math
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from tests.support.bench.records import (
    ACCECN_OPTIONS,
    FIN,
    HEADER,
    NOP,
    RST,
    SACK,
    SYN,
    TIMESTAMP,
    UDP,
    Record,
    records,
)

GAP_S = 1
"""Pause between two repetitions."""
PORT_STEP = 11
"""Ports of the client from one repetition to the next; a mix takes ten of them."""
PORTS = range(1024, 65536)
OTHERS, DATAGRAMS = 7, 2
"""Not-ECT and UDP packets of a mix beside each packet of the recorded run."""
MASK = 0xFFFF_FFFF
SOCKET_STEP = 0x10_0000
"""Between the socket pointers of two repetitions."""
MOVED = re.compile(
    r" (?P<second>\d+)\.(?=\d{6}: )"
    r"|(?P<before> (?:sk=0x|skaddr=|sock_cookie=))(?P<pointer>[0-9a-f]+)"
    r"|(?P<end> (?:sport=|src=[0-9.]+:))(?P<port>\d+)"
)
"""What differs from one repetition to the next in a line of trace events."""


def port(number: int, copy: int) -> int:
    """The client's port in one repetition."""
    return PORTS.start + (number - PORTS.start + PORT_STEP * copy) % len(PORTS)


def period_s(data: bytes) -> int:
    """Whole seconds from one repetition to the next."""
    stamps = [struct.unpack_from("<II", data, record.start) for record in records(data)]
    (first, first_ns), (last, last_ns) = min(stamps), max(stamps)
    return math.ceil(last - first + (last_ns - first_ns) / 1e9) + GAP_S


def repeated(data: bytes, packets: int, path: Path) -> int:
    """Writes ``data`` over and over until there are ``packets``; returns the repetitions.

    Times go on and each repetition has ports of its own: rounds and flows grow with the length.
    """
    found = list(records(data))
    step, body = period_s(data), data[HEADER:]
    stamps = [(r.start - HEADER, struct.unpack_from("<I", data, r.start)[0]) for r in found]
    ports = [
        (at - HEADER, struct.unpack_from(">H", data, at)[0])
        for at in (r.client_port(data) for r in found if r.tcp)
    ]
    copies, rest = divmod(packets, len(found))
    with path.open("wb") as out:
        out.write(data[:HEADER])
        for copy in range(copies + bool(rest)):
            block = bytearray(body)
            for at, second in stamps:
                struct.pack_into("<I", block, at, second + copy * step)
            for at, number in ports:
                struct.pack_into(">H", block, at, port(number, copy))
            end = found[rest].start - HEADER if copy == copies else len(block)
            out.write(block[:end])
    return copies + bool(rest)


def mixed(data: bytes) -> bytes:
    """Each packet with seven Not-ECT segments and two datagrams beside it, on other ports."""
    out = bytearray(data[:HEADER])
    for record in records(data):
        out += data[record.start : record.end]
        if not record.tcp:
            continue
        for other in range(1, 1 + OTHERS + DATAGRAMS):
            packet = bytearray(data[record.start : record.end])
            own = _moved(record)
            (number,) = struct.unpack_from(">H", packet, own.client_port(packet))
            struct.pack_into(">H", packet, own.client_port(packet), number + other)
            _plain(packet, own)
            if other > OTHERS:
                _datagram(packet, own)
            out += packet
    return bytes(out)


def _moved(record: Record) -> Record:
    """The offsets of a record within its own bytes."""
    start = record.start
    options = tuple((kind, at - start, length) for kind, at, length in record.options)
    return Record(
        0, record.end - start, record.ip - start, record.tcp - start, record.payload, options
    )


def _plain(packet: bytearray, record: Record) -> None:
    """Takes ECN off: codepoint, the flags AE, CWR and ECE, and the AccECN option."""
    packet[record.ip + 1] &= 0xFC if packet[record.ip] >> 4 == 4 else 0xCF
    packet[record.tcp + 12] &= 0xFE
    packet[record.tcp + 13] &= 0x3F
    _without_accecn_option(packet, record)


def _without_accecn_option(packet: bytearray, record: Record) -> None:
    for kind, at, length in record.options:
        if kind in ACCECN_OPTIONS:
            packet[at : at + length] = bytes([NOP]) * length


def _datagram(packet: bytearray, record: Record) -> None:
    """Turns a segment into a datagram: another protocol, and a UDP header in front."""
    packet[record.ip + (9 if packet[record.ip] >> 4 == 4 else 6)] = UDP
    length = record.payload + 4 * (packet[record.tcp + 12] >> 4)
    struct.pack_into(">HH", packet, record.tcp + 4, length, 0)


def continued(data: bytes, packets: int, path: Path) -> int:
    """Writes the flow of ``data`` as one flow that goes on; returns the repetitions.

    Sequence numbers, acknowledgements, timestamps and the ACE counter continue; the AccECN option,
    which no sender has to send, is left out.
    """
    found = [record for record in records(data) if record.tcp]
    step = period_s(data)
    sent = {way: _sent(data, found, way) for way in (True, False)}
    marks = {way: _marks(data, found, way) for way in (True, False)}
    written = copy = 0
    with path.open("wb") as out:
        out.write(data[:HEADER])
        while written < packets:
            for record in found:
                flags = data[record.tcp + 13]
                if flags & (FIN | RST) or (copy and flags & SYN):
                    continue
                way = record.forward(data)
                packet = bytearray(data[record.start : record.end])
                own = _moved(record)
                _later(packet, own, copy, step, (sent[way], sent[not way]))
                if not flags & SYN:
                    _more_marks(packet, own, copy * marks[way])
                out.write(packet)
                written += 1
                if written == packets:
                    break
            copy += 1
    return copy


def _sent(data: bytes, found: list[Record], way: bool) -> int:
    """Bytes that one direction sends in one repetition."""
    own = [record for record in found if record.forward(data) is way and record.payload]
    if not own:
        return 0
    starts = [struct.unpack_from(">I", data, record.tcp + 4)[0] for record in own]
    pairs = zip(starts, own, strict=True)
    return max((start + record.payload - starts[0]) & MASK for start, record in pairs)


def _ace(data: bytes, tcp: int) -> int:
    return (data[tcp + 12] & 1) << 2 | data[tcp + 13] >> 6


def _marks(data: bytes, found: list[Record], way: bool) -> int:
    """By how much the ACE counter of one direction moves on in one repetition."""
    counts = [
        _ace(data, record.tcp)
        for record in found
        if record.forward(data) is way and not data[record.tcp + 13] & (SYN | FIN | RST)
    ]
    return counts[-1] - counts[0] if counts else 0


def _later(packet: bytearray, record: Record, copy: int, step: int, sent: tuple[int, int]) -> None:
    """Moves times, sequence numbers and what acknowledges them to a later repetition."""
    own, other = (copy * count for count in sent)
    _add(packet, 0, copy * step, "<I")
    _add(packet, record.tcp + 4, own)
    if packet[record.tcp + 13] & 0x10:
        _add(packet, record.tcp + 8, other)
    for kind, at, length in record.options:
        if kind == TIMESTAMP:
            for place in (at + 2, at + 6):
                _add(packet, place, copy * step * 1000)
        elif kind == SACK:
            for place in range(at + 2, at + length, 4):
                _add(packet, place, other)
    _without_accecn_option(packet, record)


def _add(packet: bytearray, at: int, amount: int, form: str = ">I") -> None:
    (value,) = struct.unpack_from(form, packet, at)
    struct.pack_into(form, packet, at, (value + amount) & MASK)


def _more_marks(packet: bytearray, record: Record, amount: int) -> None:
    ace = (_ace(packet, record.tcp) + amount) % 8
    packet[record.tcp + 12] = packet[record.tcp + 12] & 0xFE | ace >> 2
    packet[record.tcp + 13] = packet[record.tcp + 13] & 0x3F | (ace & 3) << 6


def repeated_log(lines: list[str], step_s: int, copies: int) -> Iterator[str]:
    """A kernel log in NDJSON beside ``repeated``: the same times and ports; lines end the log."""
    header, *samples = (json.loads(line) for line in lines)
    trailer = samples.pop()
    yield json.dumps(header)
    for copy in range(copies):
        for sample in samples:
            yield json.dumps(_later_sample(sample, copy, step_s))
    counts = {name: count * copies for name, count in trailer["events"].items()}
    later = trailer["ts_ns"] + (copies - 1) * step_s * 10**9
    yield json.dumps(trailer | {"ts_ns": later, "events": counts})


def _later_sample(sample: dict, copy: int, step_s: int) -> dict:
    higher = "sport" if sample["sport"] > sample["dport"] else "dport"
    moved = {"ts_ns": sample["ts_ns"] + copy * step_s * 10**9, higher: port(sample[higher], copy)}
    if "sk" in sample:
        moved["sk"] = f"{int(sample['sk'], 16) + copy:x}"
    return sample | moved


def repeated_events(lines: list[str], step_s: int, copies: int) -> Iterator[str]:
    """Trace events as text beside ``repeated``: the same times and ports, sockets of their own."""
    for copy in range(copies):

        def later(found: re.Match, copy: int = copy) -> str:
            if second := found["second"]:
                return f" {int(second) + copy * step_s}."
            if pointer := found["pointer"]:
                return f"{found['before']}{int(pointer, 16) + copy * SOCKET_STEP:x}"
            return f"{found['end']}{port(int(found['port']), copy)}"

        yield from (MOVED.sub(later, line) for line in lines if copy == 0 or line[:1] != "#")
