"""A socket for both IP versions that marks one of them."""

import lzma
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.evidence import Evidence
from l4strace.model import Finding
from l4strace.rules.l4s117_one_family_unmarked import RULE
from tests.support.ends import CLIENT, findings
from tests.support.frames import evidence, frame
from tests.support.places import FIXTURES

STATIONS = {True: bytes.fromhex("020000000001"), False: bytes.fromhex("020000000002")}
Link = tuple[int, Callable[[bytes, bytes], bytes]]


def ethernet(station: bytes, packet: bytes) -> bytes:
    return bytes(6) + station + struct.pack(">H", kind(packet)) + packet


def cooked(station: bytes, packet: bytes) -> bytes:
    return struct.pack(">HHH8sH", 4, 1, 6, station, kind(packet)) + packet


def cooked_v2(station: bytes, packet: bytes) -> bytes:
    return struct.pack(">HHIHBB8s", kind(packet), 0, 3, 1, 4, 6, station) + packet


def raw(_: bytes, packet: bytes) -> bytes:
    return packet


def kind(packet: bytes) -> int:
    return 0x0800 if packet[0] >> 4 == 4 else 0x86DD


def over_ipv6(packet: bytes, tos: int) -> bytes:
    """The same datagram between addresses of IPv6."""
    length = struct.unpack_from(">H", packet, 2)[0] - 20
    head = struct.pack(">IHBB", 6 << 28 | tos << 20, length, 17, packet[8])
    ends = (bytes(12) + packet[at : at + 4] for at in (12, 16))
    return head + b"".join(b"\x20\x01" + end[2:] for end in ends) + packet[20:]


def both_versions(folder: Path, tos: int, link: Link, *, ttl: int = 64, bare: int = 1) -> Evidence:
    """A recorded UDP Prague, and the same over IPv6, where its client sends with ``tos``.

    ``bare`` is the station that sends over IPv6 for the client.
    """
    data = lzma.decompress((FIXTURES / "user-space" / "up1-a.pcap.xz").read_bytes())
    out, at = bytearray(data[:20] + struct.pack("<I", link[0])), 24
    while at < len(data):
        seconds, parts, held, wire = struct.unpack_from("<IIII", data, at)
        packet = bytearray(data[at + 16 : at + 16 + held])
        at += 16 + held
        # The host asks for routers of IPv6 meanwhile.
        if packet[0] >> 4 != 4:
            continue
        packet[8] = ttl
        client = packet[12:16] == CLIENT
        ours, theirs = STATIONS[client], STATIONS[client == bool(bare)]
        copies = (
            (ours, bytes(packet)),
            (theirs, over_ipv6(bytes(packet), tos if client else 1)),
        )
        for station, copy in copies:
            framed = link[1](station, copy)
            more = len(framed) - held
            out += struct.pack("<IIII", seconds, parts, len(framed), wire + more) + framed
    (capture := folder / "both.pcap").write_bytes(out)
    return pipeline.derive(pipeline.read([str(capture)], companions=False), strict=True)


ETHERNET: Link = (1, ethernet)


@pytest.mark.parametrize("link", [ETHERNET, (113, cooked), (276, cooked_v2)])
def test_fires_on_recorded_packets_of_which_one_version_lost_its_mark(tmp_path: Path, link: Link):
    (found,) = findings(RULE, both_versions(tmp_path, 0, link))
    assert found.forward
    assert "marks IPv4 and not IPv6" in found.message
    assert "while flow 0 over IPv4 carries ECT" in found.message


@pytest.mark.parametrize(
    ("tos", "options"),
    [
        (1, {"link": ETHERNET}),
        (0, {"link": ETHERNET, "ttl": 63}),  # a router's station stands for all behind it
        (0, {"link": ETHERNET, "bare": 0}),  # another host
        (0, {"link": (101, raw)}),  # no link layer
    ],
)
def test_silent_where_both_are_marked_or_no_host_is_shown(
    tmp_path: Path, tos: int, options: dict[str, Any]
):
    assert findings(RULE, both_versions(tmp_path, tos, **options)) == []


def quic(ipv6: dict[str, Any] | None = None, ipv4: dict[str, Any] | None = None) -> list[Finding]:
    """Server port 443 of one host sends ECT(0) over IPv6 and Not-ECT over IPv4."""
    rows, flows = [], []
    plain = {"forward": False, "packets": 1000, "sender_host": 0, "ce": 0, "ect1": 0, "ect0": 0}
    ends = {"transport": "quic", "version": "1", "server_port": 443}
    both = (
        (0, {"server": "2001:db8::1", "not_ect": 20, "ect0": 980} | (ipv6 or {})),
        (1, {"server": "192.0.2.1", "not_ect": 1000} | (ipv4 or {})),
    )
    for flow, columns in both:
        of_flow = {key: columns.pop(key) for key in (*ends, "server") if key in columns}
        flows.append(frame("flows", flow=flow, **(ends | of_flow)))
        rows.append(frame("directions", flow=flow, **(plain | columns)))
    return findings(RULE, evidence(udp_flows=pl.concat(flows), udp_directions=pl.concat(rows)))


def test_fires_where_more_than_probes_is_marked():
    assert len(quic({"ect0": 65, "not_ect": 935})) == 1


def test_fires_on_a_server_whose_ipv4_is_not_marked():
    (found,) = quic()
    assert found.message.startswith(
        "The sender marks IPv6 and not IPv4: from port 443 of one host 1,000 packets of 1 flow "
        "over IPv4 left, none with ECT, while flow 0 over IPv6 carries ECT."
    )


@pytest.mark.parametrize(
    ("ipv6", "ipv4"),
    [
        ({}, {"ect0": 10, "not_ect": 990}),  # it tried, and validation failed
        ({}, {"version": None}),  # it may have tried before the capture
        ({}, {"packets": 199, "not_ect": 199}),  # it may still try
        ({}, {"server_port": 8443}),  # another program
        ({}, {"transport": "rtp"}),  # sessions agree on ECN each for itself
        ({}, {"sender_host": None}),
        ({"ect0": 64, "not_ect": 936}, {}),  # neither does more than try ECT
        ({"server": "192.0.2.1"}, {}),
    ],
)
def test_silent_on_other_explanations(ipv6: dict[str, Any], ipv4: dict[str, Any]):
    assert quic(ipv6, ipv4) == []
