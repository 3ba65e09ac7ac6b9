"""TCP segments crafted and read back with dpkt: the slow, obvious oracle of our decoder."""

import struct
from typing import Any

import dpkt
from hypothesis import strategies as st

ACCECN_EXIDS = (0xACC0, 0xACC1, 0xACCE)


@st.composite
def options(draw: st.DrawFn) -> bytes:
    """At most 40 bytes of TCP options, padded to four."""
    counter = st.integers(0, 2**24 - 1).map(lambda n: n.to_bytes(3, "big"))
    counters = st.lists(counter, max_size=3).map(b"".join)
    word = st.binary(min_size=4, max_size=4)
    one = st.one_of(
        st.tuples(st.just(2), st.binary(min_size=2, max_size=2)),
        st.tuples(st.just(3), st.binary(min_size=1, max_size=1)),
        st.tuples(st.just(4), st.just(b"")),
        st.tuples(
            st.just(5), st.lists(word, min_size=1, max_size=3).map(lambda w: b"".join(w) * 2)
        ),
        st.tuples(st.just(8), st.binary(min_size=8, max_size=8)),
        st.tuples(st.sampled_from((172, 174)), counters),
        st.tuples(
            st.just(254),
            st.tuples(
                st.sampled_from(ACCECN_EXIDS).map(lambda x: x.to_bytes(2, "big")), counters
            ).map(b"".join),
        ),
        st.tuples(st.integers(30, 70), st.binary(max_size=6)),
    )
    chosen = draw(st.lists(one, max_size=5, unique_by=lambda pair: min(pair[0], 172)))
    out = b""
    for kind, body in chosen:
        encoded = bytes([kind, len(body) + 2]) + body
        nops = b"\x01" * draw(st.integers(0, 2))
        if len(out) + len(nops) + len(encoded) <= 40:
            out += nops + encoded
    return out + draw(st.sampled_from((b"\x00", b"\x01"))) * (-len(out) % 4)


@st.composite
def tcp(draw: st.DrawFn) -> dpkt.tcp.TCP:
    """A segment of any shape."""
    opts = draw(options())
    number = st.integers(0, 2**32 - 1)
    segment = dpkt.tcp.TCP(
        sport=draw(st.integers(1, 65535)),
        dport=draw(st.integers(1, 65535)),
        seq=draw(number),
        ack=draw(number),
        win=draw(st.integers(0, 65535)),
        data=draw(st.binary(max_size=60)),
    )
    segment.opts = opts
    segment._off_flags = (5 + len(opts) // 4) << 12 | draw(st.integers(0, 0xFFF))
    return segment


@st.composite
def datagram(draw: st.DrawFn) -> bytes:
    """The segment in IPv4 or IPv6, with IP options or extension headers now and then."""
    segment = bytes(draw(tcp()))
    traffic_class = draw(st.integers(0, 255))
    if draw(st.booleans()):
        header = dpkt.ip.IP(
            src=draw(st.binary(min_size=4, max_size=4)),
            dst=draw(st.binary(min_size=4, max_size=4)),
            tos=traffic_class,
            ttl=draw(st.integers(0, 255)),
            id=draw(st.integers(0, 65535)),
            p=6,
            hl=5,
        )
        ip_options = draw(st.sampled_from((b"", b"\x01\x01\x01\x00", b"\x94\x04\x00\x00")))
        header.hl = 5 + len(ip_options) // 4
        header.len = header.hl * 4 + len(segment)
        return header.pack_hdr() + ip_options + segment
    extensions = draw(st.lists(st.sampled_from((0, 43, 60)), max_size=2))
    body, following = segment, 6
    for kind in reversed(extensions):
        size = draw(st.integers(0, 2))
        body = bytes([following, size]) + bytes(6 + 8 * size) + body
        following = kind
    head = struct.pack(
        ">IHBB", 6 << 28 | traffic_class << 20, len(body), following, draw(st.integers(0, 255))
    )
    address = st.binary(min_size=16, max_size=16)
    return head + draw(address) + draw(address) + body


def read(ip_bytes: bytes) -> dict[str, Any]:
    """Columns of `packets` that one IP datagram decides, as dpkt reads them."""
    if ip_bytes[0] >> 4 == 4:
        ip = dpkt.ip.IP(ip_bytes)
        row = {"ip_version": 4, "ttl": ip.ttl, "dscp": ip.tos >> 2, "ip_ecn": ip.tos & 3}
        row["ip_id"] = ip.id
        segment = ip.data
    else:
        ip = dpkt.ip6.IP6(ip_bytes)
        row = {"ip_version": 6, "ttl": ip.hlim, "dscp": ip.fc >> 2, "ip_ecn": ip.fc & 3}
        row["ip_id"] = None
        segment = ip.data
    if not isinstance(segment, dpkt.tcp.TCP):
        segment = dpkt.tcp.TCP(bytes(segment))
    return row | _segment(segment)


def _segment(segment: dpkt.tcp.TCP) -> dict[str, Any]:
    flags = segment._off_flags & 0xFFF
    row: dict[str, Any] = {
        "tcp_flags": flags,
        "ace": flags >> 6 & 7,
        "seq_raw": segment.seq,
        "ack_raw": segment.ack,
        "window": segment.win,
        "payload_len": len(segment.data),
        "sack_permitted": False,
    }
    for name in ("mss", "wscale", "tsval", "tsecr", "sack", "e0b", "ceb", "e1b"):
        row[name] = None
    for name in ("accecn_kind", "accecn_exid", "accecn_len"):
        row[name] = None
    for kind, body in dpkt.tcp.parse_opts(segment.opts):
        if kind == dpkt.tcp.TCP_OPT_EOL:
            break
        row |= _option(kind, body)
    return row


def _option(kind: int, body: bytes) -> dict[str, Any]:
    words = [int.from_bytes(body[i : i + 4], "big") for i in range(0, len(body) - 3, 4)]
    if kind == dpkt.tcp.TCP_OPT_MSS:
        return {"mss": int.from_bytes(body, "big")}
    if kind == dpkt.tcp.TCP_OPT_WSCALE:
        return {"wscale": body[0]}
    if kind == dpkt.tcp.TCP_OPT_SACKOK:
        return {"sack_permitted": True}
    if kind == dpkt.tcp.TCP_OPT_SACK:
        return {"sack": words}
    if kind == dpkt.tcp.TCP_OPT_TIMESTAMP:
        return {"tsval": words[0], "tsecr": words[1]}
    if kind in (172, 174):
        return _accecn(kind, None, len(body) + 2, body, first="e0b" if kind == 172 else "e1b")
    if kind == 254:
        exid = int.from_bytes(body[:2], "big")
        first = "e1b" if exid == 0xACC1 else "e0b"
        return _accecn(kind, exid, len(body) + 2, body[2:], first)
    return {}


def _accecn(kind: int, exid: int | None, length: int, body: bytes, first: str) -> dict[str, Any]:
    names = (first, "ceb", "e1b" if first == "e0b" else "e0b")
    counters = [int.from_bytes(body[i : i + 3], "big") for i in range(0, len(body) - 2, 3)]
    row = {"accecn_kind": kind, "accecn_exid": exid, "accecn_len": length}
    return row | dict(zip(names, counters, strict=False))
