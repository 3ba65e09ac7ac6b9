"""What can lie around an IP datagram: link layers, tags, labels and tunnels, as bytes."""

import struct
from collections.abc import Callable

MAC = bytes(12)


def ethertype(datagram: bytes) -> int:
    """The EtherType of an IP datagram."""
    return 0x0800 if datagram[0] >> 4 == 4 else 0x86DD


def ethernet(datagram: bytes) -> bytes:
    return MAC + struct.pack(">H", ethertype(datagram)) + datagram


def vlan(datagram: bytes) -> bytes:
    return MAC + struct.pack(">HHH", 0x8100, 5, ethertype(datagram)) + datagram


def qinq(datagram: bytes) -> bytes:
    return MAC + struct.pack(">HHHHH", 0x88A8, 5, 0x8100, 6, ethertype(datagram)) + datagram


def mpls(datagram: bytes) -> bytes:
    return MAC + struct.pack(">HII", 0x8847, 77 << 12 | 64, 78 << 12 | 1 << 8 | 64) + datagram


def mpls_pseudowire(datagram: bytes) -> bytes:
    return MAC + struct.pack(">HII", 0x8847, 78 << 12 | 1 << 8 | 64, 0) + ethernet(datagram)


def pppoe(datagram: bytes) -> bytes:
    protocol = 0x0021 if datagram[0] >> 4 == 4 else 0x0057
    return MAC + struct.pack(">HBBHHH", 0x8864, 0x11, 0, 9, len(datagram) + 2, protocol) + datagram


def snap(datagram: bytes) -> bytes:
    length = len(datagram) + 8
    return (
        MAC
        + struct.pack(">H", length)
        + b"\xaa\xaa\x03\0\0\0"
        + struct.pack(">H", ethertype(datagram))
        + datagram
    )


def raw(datagram: bytes) -> bytes:
    return datagram


def null(datagram: bytes) -> bytes:
    return struct.pack("<I", 2 if datagram[0] >> 4 == 4 else 30) + datagram


def null_big(datagram: bytes) -> bytes:
    return struct.pack(">I", 2 if datagram[0] >> 4 == 4 else 28) + datagram


def cooked(datagram: bytes) -> bytes:
    return struct.pack(">HHH8sH", 0, 1, 6, bytes(8), ethertype(datagram)) + datagram


def cooked_v2(datagram: bytes) -> bytes:
    return struct.pack(">HHIHBB8s", ethertype(datagram), 0, 3, 1, 0, 6, bytes(8)) + datagram


def ppp(datagram: bytes) -> bytes:
    return b"\xff\x03" + struct.pack(">H", 0x0021 if datagram[0] >> 4 == 4 else 0x0057) + datagram


def ppp_compressed(datagram: bytes) -> bytes:
    return bytes([0x21 if datagram[0] >> 4 == 4 else 0x57]) + datagram


def llc(datagram: bytes) -> bytes:
    return b"\xaa\xaa\x03\0\0\0" + struct.pack(">H", ethertype(datagram)) + datagram


def ieee802_11(datagram: bytes) -> bytes:
    """Data of QoS from a station."""
    return bytes([0x88, 0x01, 0, 0]) + bytes(18) + bytes([0x10, 0]) + bytes(2) + llc(datagram)


def ieee802_11_relayed(datagram: bytes) -> bytes:
    """Data with four addresses."""
    return bytes([0x08, 0x03, 0, 0]) + bytes(18) + bytes(2) + bytes(6) + llc(datagram)


def radiotap(datagram: bytes) -> bytes:
    return struct.pack("<BBHIB", 0, 0, 9, 2, 0) + ieee802_11(datagram)


def nflog(datagram: bytes) -> bytes:
    """Attributes of a little-endian host: a prefix, then the packet."""
    head = struct.pack(">BBH", 2 if datagram[0] >> 4 == 4 else 10, 0, 5)
    prefix = struct.pack("<HH", 4 + 5, 10) + b"rule\0" + bytes(3)
    return head + prefix + struct.pack("<HH", 4 + len(datagram), 9) + datagram


def pktap(datagram: bytes) -> bytes:
    return struct.pack("<III24s", 108, 1, 1, b"en0").ljust(108, b"\0") + ethernet(datagram)


LINKS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "ethernet": (1, ethernet), "vlan": (1, vlan), "qinq": (1, qinq), "mpls": (1, mpls),
    "pseudowire": (1, mpls_pseudowire), "pppoe": (1, pppoe), "snap": (1, snap),
    "raw": (101, raw), "raw-bsd": (12, raw), "null": (0, null), "null-big": (0, null_big),
    "loop": (108, null_big), "sll": (113, cooked), "sll2": (276, cooked_v2),
    "ppp": (9, ppp), "ppp-compressed": (50, ppp_compressed),
    "802.11": (105, ieee802_11), "802.11 relayed": (105, ieee802_11_relayed),
    "radiotap": (127, radiotap), "nflog": (239, nflog), "pktap": (258, pktap),
    "pktap of old": (149, pktap),
}  # fmt: skip
"""Name -> (link type, bytes around a datagram)."""


def outer_v4(protocol: int, body: bytes, ecn: int) -> bytes:
    header = struct.pack(">BBHHHBBH", 0x45, ecn, 20 + len(body), 1, 0, 64, protocol, 0)
    return header + bytes([192, 0, 2, 1, 192, 0, 2, 2]) + body


def outer_v6(protocol: int, body: bytes, ecn: int) -> bytes:
    return struct.pack(">IHBB", 6 << 28 | ecn << 20, len(body), protocol, 64) + bytes(32) + body


SEGMENT = struct.pack(">HHIIHHHH", 40000, 443, 1, 2, 5 << 12 | 0x110, 500, 0, 0)
"""The header of an ACK with ACE 4 and no options, from port 40000 to 443."""
FRAME = ethernet(outer_v4(6, SEGMENT + bytes(100), 1))
"""An Ethernet frame with that segment and 100 bytes of payload, ECT(1)."""


def udp(port: int, body: bytes) -> bytes:
    return struct.pack(">HHHH", 50000, port, 8 + len(body), 0) + body


def ip_in_ip(datagram: bytes) -> tuple[int, bytes]:
    return (4 if datagram[0] >> 4 == 4 else 41), datagram


def gre(datagram: bytes) -> tuple[int, bytes]:
    return 47, struct.pack(">HH", 0, ethertype(datagram)) + datagram


def gre_full(datagram: bytes) -> tuple[int, bytes]:
    return 47, struct.pack(">HHIII", 0xB000, ethertype(datagram), 0, 7, 8) + datagram


def gre_bridge(datagram: bytes) -> tuple[int, bytes]:
    return 47, struct.pack(">HHI", 0x2000, 0x6558, 7) + ethernet(datagram)


def vxlan(datagram: bytes) -> tuple[int, bytes]:
    return 17, udp(4789, struct.pack(">BBHI", 8, 0, 0, 5 << 8) + vlan(datagram))


def geneve(datagram: bytes) -> tuple[int, bytes]:
    options = struct.pack(">HBB4s", 0x0102, 1, 1, bytes(4))
    return 17, udp(6081, struct.pack(">BBHI", 2, 0, 0x6558, 5 << 8) + options + ethernet(datagram))


def gtp(datagram: bytes) -> tuple[int, bytes]:
    return 17, udp(2152, struct.pack(">BBHI", 0x30, 255, len(datagram), 9) + datagram)


def gtp_extended(datagram: bytes) -> tuple[int, bytes]:
    extra = struct.pack(">HBB", 0, 0, 0x85) + bytes([1, 0x10, 0x09, 0])
    header = struct.pack(">BBHI", 0x34, 255, len(datagram) + len(extra), 9)
    return 17, udp(2152, header + extra + datagram)


TUNNELS: dict[str, tuple[str, Callable[[bytes], tuple[int, bytes]]]] = {
    "ip-in-ip": ("ipip", ip_in_ip), "gre": ("gre", gre), "gre with all fields": ("gre", gre_full),
    "gre bridge": ("gre", gre_bridge), "vxlan": ("vxlan", vxlan), "geneve": ("geneve", geneve),
    "gtp": ("gtp", gtp), "gtp with extensions": ("gtp", gtp_extended),
}  # fmt: skip
"""Name -> (value of the column, protocol number and body around a datagram)."""


def erspan_1(datagram: bytes) -> tuple[int, bytes]:
    return 47, struct.pack(">HH", 0, 0x88BE) + ethernet(datagram)


def erspan_2(datagram: bytes) -> tuple[int, bytes]:
    return 47, struct.pack(">HHIHHI", 0x1000, 0x88BE, 7, 0x1005, 9, 3) + ethernet(datagram)


def erspan_3(datagram: bytes) -> tuple[int, bytes]:
    header = struct.pack(">HHIHHIHH", 0x1000, 0x22EB, 7, 0x2005, 9, 1, 0, 1)
    return 47, header + bytes(8) + ethernet(datagram)


def tzsp(datagram: bytes) -> tuple[int, bytes]:
    return 17, udp(37008, bytes([1, 0, 0, 1, 0, 60, 2, 9, 9, 1]) + ethernet(datagram))


def tzsp_wireless(datagram: bytes) -> tuple[int, bytes]:
    return 17, udp(37008, bytes([1, 0, 0, 18, 1]) + ieee802_11(datagram))


MIRRORS: dict[str, Callable[[bytes], tuple[int, bytes]]] = {
    "erspan 1": erspan_1, "erspan 2": erspan_2, "erspan 3": erspan_3, "tzsp": tzsp,
    "tzsp of 802.11": tzsp_wireless,
}  # fmt: skip
"""Name -> protocol number and body around a datagram, which somebody copied from its path."""


def tcp_headers(
    seq: int,
    ack: int,
    flags: int = 0x010,
    payload: int = 0,
    ports: tuple[int, int] = (40000, 443),
    options: bytes = b"",
) -> bytes:
    """Ethernet, IPv4 and TCP without the payload's bytes: as with a short snaplen."""
    size = 20 + len(options)
    ip = struct.pack(">BBHHHBBH", 0x45, 1, 20 + size + payload, 0, 0, 64, 6, 0)
    ends = bytes([10, 0, 0, 1, 10, 0, 0, 2])
    if ports[0] < ports[1]:
        ends = ends[4:] + ends[:4]
    tcp = struct.pack(">HHIIHHHH", *ports, seq % 2**32, ack % 2**32, size << 10 | flags, 999, 0, 0)
    return MAC + b"\x08\0" + ip + ends + tcp + options
