"""Records of a classic pcap file and where their headers lie, to change them in place."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

HEADER, RECORD, ETHERNET = 24, 16, 14
"""Bytes of the file header, of a record header (pcap, little endian), of an Ethernet header."""
LITTLE_ENDIAN_NS = 0xA1B23C4D
TCP, UDP = 6, 17
FIN, SYN, RST = 0x01, 0x02, 0x04
ACCECN_OPTIONS = (172, 174)
SACK, TIMESTAMP, NOP = 5, 8, 1


@dataclass(frozen=True, slots=True)
class Record:
    """Offsets into the file; ``tcp`` and ``options`` are empty for what is not TCP."""

    start: int
    end: int
    ip: int = 0
    tcp: int = 0
    payload: int = 0
    """Bytes of the segment on the wire, whatever was captured of it."""
    options: tuple[tuple[int, int, int], ...] = ()
    """Kind, offset and length of each TCP option that was captured whole."""

    def forward(self, data: bytes) -> bool:
        """From the client, which has the higher port in the recorded runs."""
        source, destination = struct.unpack_from(">HH", data, self.tcp)
        return source > destination

    def client_port(self, data: bytes) -> int:
        """Offset of the port of the client."""
        return self.tcp if self.forward(data) else self.tcp + 2


def records(data: bytes) -> Iterator[Record]:
    """The records of a little-endian nanosecond pcap file of Ethernet frames."""
    if struct.unpack_from("<I", data)[0] != LITTLE_ENDIAN_NS:
        raise ValueError("only little-endian nanosecond pcap files can be repeated")
    at = HEADER
    while at < len(data):
        end = at + RECORD + struct.unpack_from("<I", data, at + 8)[0]
        yield _record(data, at, end)
        at = end


def _record(data: bytes, start: int, end: int) -> Record:
    ip = start + RECORD + ETHERNET
    version = data[ip] >> 4 if end > ip + 40 else 0
    if version == 4 and data[ip + 9] == TCP:
        head = 4 * (data[ip] & 15)
        length = struct.unpack_from(">H", data, ip + 2)[0] - head
    elif version == 6 and data[ip + 6] == TCP:
        head = 40
        length = struct.unpack_from(">H", data, ip + 4)[0]
    else:
        return Record(start, end)
    tcp = ip + head
    own = 4 * (data[tcp + 12] >> 4)
    options = tuple(_options(data, tcp + 20, min(tcp + own, end)))
    return Record(start, end, ip, tcp, length - own, options)


def _options(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    while at + 1 < end and data[at]:
        length = 1 if data[at] == NOP else data[at + 1]
        if length < 1 or at + length > end:
            return
        if length > 1:
            yield data[at], at, length
        at += length
