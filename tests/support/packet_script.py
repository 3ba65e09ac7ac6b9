"""Compiles a text packet script of fixtures/scripts into a capture.

    flow NAME [client ADDRESS:PORT] [server ADDRESS:PORT] [isn CLIENT SERVER]
    +TIME >|< FLAGS [ace N] [not-ect|ect1|ect0|ce] [seq N] [ack N] [len N] [win N] <OPTIONS>
    expect TABLE COLUMN VALUE         in the table flows, forward or reverse of the flow above
    expect rule|no-rule CODE          what diagnose must say, must not say, of the whole script

`>` is client to server. TIME is seconds after the packet before. FLAGS are letters of S A P F R,
`ace` the three bits AE CWR ECE. `seq` and `ack` count from the initial sequence numbers; a `seq`
that is not said continues the flow. OPTIONS, comma separated: mss N, sackok, wscale N, ts VAL ECR,
sack LEFT RIGHT..., accecn0 E0 CE E1, accecn1 E1 CE E0 (trailing counters may be left out),
exid HEX E0 CE E1 (kind 254), raw KIND HEXBYTES. `#` starts a comment.
"""

from __future__ import annotations

import argparse
import ipaddress
import shlex
import struct
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.files import RAW_IP, timed_pcap

NS = 1_000_000_000
START_NS = 1_700_000_000 * NS
CODEPOINTS = {"not-ect": 0, "ect1": 1, "ect0": 2, "ce": 3}
FLAG_BITS = {"F": 0x01, "S": 0x02, "R": 0x04, "P": 0x08, "A": 0x10}
ACE_SHIFT = 6
NUMBERS = ("ace", "seq", "ack", "len", "win")


@dataclass
class Flow:
    """Addresses and where each side's sequence numbers stand."""

    name: str
    ends: dict[str, tuple[str, int]]
    isn: dict[str, int]
    next_seq: dict[str, int] = field(default_factory=lambda: {">": 0, "<": 0})


@dataclass(frozen=True)
class Expectation:
    """One `expect` line: what must be said about the flow (or, for a rule, about the script)."""

    flow: str
    table: str
    column: str
    value: str


@dataclass
class Script:
    """The packets as (time in ns, bytes from the IP header on), and what is expected of them."""

    flows: list[Flow] = field(default_factory=list)
    packets: list[tuple[int, bytes]] = field(default_factory=list)
    expectations: list[Expectation] = field(default_factory=list)


def parse(text: str) -> Script:
    """Reads a script; ValueError names the line that cannot be read."""
    script, clock = Script(), START_NS
    for number, line in enumerate(text.splitlines(), 1):
        try:
            clock = read_line(script, line, clock) if line.split("#")[0].strip() else clock
        except (KeyError, ValueError, IndexError) as error:
            raise ValueError(f"line {number}: {line.strip()}: {error}") from error
    return script


def read_line(script: Script, line: str, clock: int) -> int:
    """Reads one line that says something; returns the time after it."""
    words = shlex.split(line, comments=True)
    if words[0] == "flow":
        script.flows.append(read_flow(words[1:], len(script.flows)))
        return clock
    flow = script.flows[-1]
    if words[0] == "expect":
        name = words[1]
        script.expectations.append(Expectation(flow.name, name, words[2], " ".join(words[3:])))
        return clock
    clock += round(float(words[0]) * NS)
    script.packets.append((clock, read_packet(flow, words[1], line.split("#")[0])))
    return clock


def read_flow(words: list[str], index: int) -> Flow:
    """Reads `NAME [client A:P] [server A:P] [isn C S]`."""
    ends = {">": ("192.0.2.1", 40001 + index), "<": ("192.0.2.2", 5201)}
    isn = {">": 1000, "<": 9000}
    position = 1
    while position < len(words):
        word = words[position]
        if word == "isn":
            isn = {">": int(words[position + 1], 0), "<": int(words[position + 2], 0)}
            position += 3
            continue
        address, _, port = words[position + 1].rpartition(":")
        ends[{"client": ">", "server": "<"}[word]] = (address.strip("[]"), int(port))
        position += 2
    return Flow(words[0], ends, isn)


def read_packet(flow: Flow, way: str, line: str) -> bytes:
    """The packet of one line, from its IP header on, with right checksums."""
    words, options = split_options(line)
    numbers, ecn = read_words(words[3:])
    flags = sum(FLAG_BITS[letter] for letter in words[2]) | numbers.get("ace", 0) << ACE_SHIFT
    back = "<" if way == ">" else ">"
    offset, length = numbers.get("seq", flow.next_seq[way]), numbers.get("len", 0)
    consumed = length + (words[2].count("S") + words[2].count("F"))
    flow.next_seq[way] = max(flow.next_seq[way], offset + consumed)
    segment = tcp_segment(
        (flow.ends[way][1], flow.ends[back][1]),
        (flow.isn[way] + offset) % 2**32,
        (flow.isn[back] + numbers["ack"]) % 2**32 if "ack" in numbers else 0,
        flags,
        numbers.get("win", 1024),
        pack_options(options, flow.isn[back]),
        length,
    )
    return ip_packet(flow.ends[way][0], flow.ends[back][0], ecn, segment)


def split_options(line: str) -> tuple[list[str], list[str]]:
    """Words before `<OPTIONS>` and the options; the `<` of the direction stands alone."""
    body, _, options = (
        line.rstrip().rpartition(" <") if line.rstrip().endswith(">") else (line, "", "")
    )
    return body.split(), [one.strip() for one in options.rstrip(">").split(",") if one.strip()]


def read_words(words: list[str]) -> tuple[dict[str, int], int]:
    numbers: dict[str, int] = {}
    ecn, position = 0, 0
    while position < len(words):
        if words[position] in CODEPOINTS:
            ecn = CODEPOINTS[words[position]]
            position += 1
            continue
        if words[position] not in NUMBERS:
            raise ValueError(f"unknown word {words[position]!r}")
        numbers[words[position]] = int(words[position + 1], 0)
        position += 2
    return numbers, ecn


def pack_options(options: list[str], peer_isn: int) -> bytes:
    packed = b"".join(pack_option(option.split(), peer_isn) for option in options)
    return packed + b"\x01" * (-len(packed) % 4)


def pack_option(words: list[str], peer_isn: int) -> bytes:
    kind, arguments = words[0], words[1:]
    if kind == "mss":
        return struct.pack("!BBH", 2, 4, int(arguments[0]))
    if kind == "sackok":
        return b"\x04\x02"
    if kind == "wscale":
        return struct.pack("!BBB", 3, 3, int(arguments[0]))
    if kind == "ts":
        return struct.pack("!BBII", 8, 10, *map(int, arguments))
    if kind == "sack":
        edges = [(peer_isn + int(edge)) % 2**32 for edge in arguments]
        return struct.pack(f"!BB{len(edges)}I", 5, 2 + 4 * len(edges), *edges)
    if kind in ("accecn0", "accecn1"):
        return with_length({"accecn0": 172, "accecn1": 174}[kind], counters(arguments))
    if kind == "exid":
        return with_length(254, bytes.fromhex(arguments[0]) + counters(arguments[1:]))
    if kind == "raw":
        return with_length(int(arguments[0]), bytes.fromhex("".join(arguments[1:])))
    raise ValueError(f"unknown option {kind!r}")


def counters(values: list[str]) -> bytes:
    """24-bit counters, big-endian (RFC 9768 section 3.2.3)."""
    return b"".join((int(value, 0) % 2**24).to_bytes(3, "big") for value in values)


def with_length(kind: int, content: bytes) -> bytes:
    return bytes((kind, 2 + len(content))) + content


def tcp_segment(
    ports: tuple[int, int], seq: int, ack: int, flags: int, window: int, options: bytes, length: int
) -> bytes:
    """A TCP segment with checksum 0 and `length` zero bytes of payload."""
    words = 5 + len(options) // 4
    header = struct.pack("!HHIIHHHH", *ports, seq, ack, words << 12 | flags, window, 0, 0)
    return header + options + bytes(length)


def ip_packet(source: str, target: str, ecn: int, segment: bytes) -> bytes:
    """The segment in an IPv4 or IPv6 packet, both checksums filled in."""
    ends = ipaddress.ip_address(source).packed, ipaddress.ip_address(target).packed
    pseudo = b"".join(ends) + struct.pack("!II", len(segment), 6)
    segment = segment[:16] + struct.pack("!H", checksum(pseudo + segment)) + segment[18:]
    if len(ends[0]) == 16:
        return (
            struct.pack("!IHBB", 6 << 28 | ecn << 20, len(segment), 6, 64)
            + b"".join(ends)
            + segment
        )
    header = struct.pack("!BBHHHBBH", 0x45, ecn, 20 + len(segment), 0, 0x4000, 64, 6, 0)
    header += b"".join(ends)
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + segment


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    data += b"\x00" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def pcap(script: Script) -> bytes:
    """The script's packets as a nanosecond pcap of link type raw IP."""
    return timed_pcap(script.packets, RAW_IP)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("script", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, help="capture to write")
    args = parser.parse_args()
    args.output.write_bytes(pcap(parse(args.script.read_text())))


if __name__ == "__main__":
    main()
