"""No address, name or payload of an input is in a copy, as bytes or decoded."""

import json
import struct
from ipaddress import ip_address
from pathlib import Path
from random import Random
from string import ascii_letters
from typing import Any

import pytest

import l4strace
from l4strace.core import _native
from l4strace.redact.mask import Mask
from l4strace.redact.output import Folder
from l4strace.redact.run import redact
from tests.support import files
from tests.support.wrappings import ethertype

Secret = dict[str, Any]


def secrets(number: int) -> Secret:
    """Two hosts with their names, and what they send; random, so that nothing matches by chance."""
    chance = Random(f"secrets {number}")
    size = 4 if number % 2 else 16
    return {
        "ends": [ip_address(chance.randbytes(size)) for _ in range(2)],
        "macs": [chance.randbytes(6) for _ in range(2)],
        "name": "".join(chance.choices(ascii_letters, k=14)),
        "payload": chance.randbytes(48),
        "key": chance.randbytes(32),
    }


def datagram(secret: Secret, protocol: int, body: bytes) -> bytes:
    source, target = (end.packed for end in secret["ends"])
    if len(source) == 4:
        head = struct.pack(">BBHHHBBH", 0x46, 1, 24 + len(body), 7, 0, 64, protocol, 0)
        return head + source + target + b"\x07\x04\x04\x01" + body
    return struct.pack(">IHBB", 0x60012345, len(body), protocol, 64) + source + target + body


def tcp(secret: Secret, flags: int) -> bytes:
    options = b"\x22\x0c" + secret["payload"][:10] + b"\xfd\x0c" + secret["payload"][10:20]
    head = struct.pack(">HHIIBBHHH", 40001, 5201, 1, 1, 11 << 4, flags, 9999, 7, 0)
    return head + options + secret["payload"]


# fmt: off
def capture(secret: Secret) -> bytes:
    """Packets of all sorts with their secrets, which are in every block and option, too."""
    name, payload = secret["name"].encode(), secret["payload"]
    link = b"".join(secret["macs"])
    inner = datagram(secret, 6, tcp(secret, 0x02))
    udp = struct.pack(">HHHH", 4789, 4789, 0, 0)
    vxlan = udp + b"\x08\0\0\0\0\0\7\0" + link + struct.pack(">H", ethertype(inner)) + inner
    bodies = [(6, tcp(secret, 0x10)), (17, vxlan), (17, b"\0\x35\0\x35\0\0\0\0" + name + payload),
              (58, b"\1\0\0\0" + inner), (1, b"\3\1\0\0" + inner), (50, payload)]
    packets = [datagram(secret, *body) for body in bodies]
    frames = [link + struct.pack(">H", ethertype(packet)) + packet for packet in packets]
    arp = link[:6] + link + b"\x08\x06" + b"".join(end.packed for end in secret["ends"]) + link
    said = files.option(1, name) + files.option(2, name) + files.option(3, name)
    out = files.block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + said)
    out += files.interface(options=said + files.option(6, link[:6]) + files.option(9, b"\x09"))
    for number, frame in enumerate([*frames, arp, payload + name]):
        comment = files.option(1, name + payload)
        out += files.enhanced(frame, 10**18 + number * 10**6, options=comment)
    for kind in (4, 10, 0xBAD, 5):
        out += files.block(kind, struct.pack("<III", 0, 0, 0) + said + name + payload)
    return out


def logs(secret: Secret) -> dict[str, str]:
    """Every dialect with the secrets wherever one can stand."""
    here, there = (str(end) for end in secret["ends"])
    name, mac = secret["name"], secret["macs"][0].hex(":")
    source, target = (f"[{end}]" if ":" in end else end for end in (here, there))
    said = f"{name} {here} {mac}"
    event = f"[000] ..s4. 1505.275453: ack: (f+0x4/0x80 [{name}]) sk=0x1 sport=40001 dport=5201"
    fields = (f"saddr={here} daddr={there} snd_cwnd=10 snd_una=5 {name}=1 cc={name} comm={name} "
              f"skb={said}")
    kernel = [
        {"type": "header", "format": "l4strace-kernel-log", "version": 1, "collector": said,
         "kernel": f"6.1-{name}", "machine": name, "host": name, "command": [said],
         "parameters": {name: said, "prague_ecn_fallback": said},
         "layout": {"name": said, "found": name, "offsets": {name: 1}}, "said": said,
         "clock": {"id": "realtime", "unix_offset_ns": 0, "uncertainty_ns": 1, name: said},
         "fields": {"ts_ns": "i64", "event": "str", name: "str", "cc": "str"}},
        {"type": "sample", "ts_ns": 5, "event": "ack", "sk": "0x1", "sport": 40001, "cc": name,
         "dport": 5201, "saddr": here, "daddr": there, "snd_cwnd": 9, name: said, "comm": said},
        {"type": "note", "text": said}, {"type": "lost", "where": name, "count": 1},
        {"type": "aggregate", "name": name, "value": {said: 1}}, {"type": name, "x": said},
        {"type": "trailer", "ts_ns": 9, "events": {"ack": 1, name: 0}, "lost": {name: 1}},
    ]
    bpftrace = [
        ("attached_probes", {"probes": 1, name: said}), ("map", {f"@{name}": {said: 1}}),
        ("printf", f"ts_ns=5 event=ack sk=0x1 sport=40001 dport=5201 {fields}\n{said}\n"),
        ("hist", {name: [said]}), (name, said),
    ]
    poll = {"t": 1795252715.5, "tcp_cwnd": 10, "host": said, "tcp_cong": name}
    flent = {
        "metadata": {"NAME": said, "LOCAL_HOST": here, "HOST": there, "USER": name, "TITLE": said,
                     "KERNEL_RELEASE": f"6.1-{name}", "EGRESS_INFO": {"src": here, "iface": name},
                     "SERIES_META": {f"TCP upload {name}": {"CONG_CONTROL": name, "x": said}}},
        "raw_values": {f"TCP upload {name}": [poll], name: [{"val": said}]},
        "results": {name: [said]}, said: said,
    }
    host = {
        "format": "l4strace-host", "version": 1,
        "kernel": {"release": f"6.1-{name}", "machine": name}, "versions": {"tc": said, name: said},
        "interfaces": {name: {"driver": name, "mac": mac}},
        "sysctls": {"net.ipv4.tcp_congestion_control": name, "kernel.hostname": name},
        "capture": {"interfaces": [name], "filter": f"host {here}", "told": [said],
                    "command": f"ssh {name} {said}"},
        "sockets": [{"cc": name, "daddr": there}], name: [here, there, mac],
    }
    return {
        "run.kernel.ndjson": "\n".join(map(json.dumps, kernel)) + f"\n{said}\n",
        "run.trace.txt": (
            f"# tracer: {name}\n#{said}\n{name}-7 {event} {fields}\n{said}\n"
            f"x-1 [000] 1505.3: tracing_mark_write: {said}\nx-1 [0] 1505.300000: {name}: {fields}\n"
            f"x-1 [001] d.s. 1506.275453: tcp_probe: src={source}:40001 dest={target}:5201 a=9\n"
        ),
        "run.bpftrace.json": "\n".join(json.dumps({"type": k, "data": d}) for k, d in bpftrace),
        "run.ss.txt": (
            f'# t=1795252715.25\nESTAB 0 0 {source}:40001 {target}:5201 users:(("{name}",pid=7))\n'
            f"\t {name} wscale:7,7 rto:211 rtt:10.1/0.1 cwnd:7 {name}:{name} dev:{name} "
            f"prague:(alpha:4.7%,{name}:1)\n{said}\n"
        ),
        "other.flent": json.dumps(flent),
        "run.host.json": json.dumps(host),
    }


# fmt: on
def forms(secret: Secret) -> set[bytes]:
    """All that must not be in a copy."""
    texts = [str(end) for end in secret["ends"]] + [secret["name"], secret["name"].lower()]
    texts += [mac.hex(":") for mac in secret["macs"]]
    raw = [end.packed for end in secret["ends"]] + secret["macs"] + [secret["name"].encode()]
    pieces = [secret["payload"][at : at + 6] for at in range(len(secret["payload"]) - 6)]
    return {text.encode() for text in texts} | set(raw) | set(pieces)


@pytest.mark.parametrize("number", range(4))
def test_no_secret_is_in_any_copy(number: int, tmp_path: Path) -> None:
    folder, secret = tmp_path, secrets(number)
    (folder / "run.pcapng").write_bytes(capture(secret))
    for name, text in logs(secret).items():
        (folder / name).write_text(text)
    hidden = forms(secret)
    assert all(any(form in path.read_bytes() for form in hidden) for path in folder.iterdir())
    inputs = [str(folder / name) for name in ("run.pcapng", "other.flent")]
    copies = redact(inputs, Folder(str(folder / "out")), Mask(secret["key"]))
    assert [copy.left_out for copy in copies] == [""] * 7
    for copy in (folder / "out").iterdir():
        content = b"".join(_native.read_text(str(copy)))
        assert [form for form in hidden if form in content] == [], copy.name
    run = l4strace.open(*(str(folder / "out" / Path(path).name) for path in inputs))
    assert run.kernel["source"].n_unique() == 5
    tables = [run.sources, run.flows, run.kernel, run.stats]
    hosts = f"{run.evidence.hosts.to_dicts()}{run.evidence.host_files}"
    shown = f"{[t.to_dicts() for t in tables]}{hosts}{run.evidence.aggregates}"
    assert [form for form in hidden if form.isascii() and form.decode() in shown] == []
    ends = {ip_address(end) for end in run.flows["client"].to_list() if end}
    assert not ends & set(secret["ends"])
