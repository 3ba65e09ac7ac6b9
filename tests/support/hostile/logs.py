"""Hostile kernel logs of every dialect, and host files: sound ones, spoilt by chance."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from tests.support.hostile import senders
from tests.support.hostile.texts import NUMBERS, TEXTS, damaged, nested, spoilt

START_NS = 1_795_256_270_000_000_000
FIELDS = {
    "ts_ns": "i64", "event": "str", "sk": "str", "saddr": "str", "daddr": "str", "sport": "u16",
    "dport": "u16", "snd_cwnd": "u32", "ssthresh": "u32", "srtt_us": "f64", "min_rtt_us": "u32",
    "delivered": "u32", "delivered_ce": "u32", "packets_out": "u32", "upscaled_alpha": "u64",
    "alpha_raw": "u64", "classic_ecn_raw": "i64", "srtt_pace_raw": "u64", "g_srtt_shift": "u8",
    "mdev_pace_raw": "u64", "g_mdev_shift": "u8", "rest_depth_us": "u32", "rest_mdev_us": "u32",
    "old_delivered": "u32", "old_delivered_ce": "u32", "round": "u32", "saw_ce": "bool",
    "ca_state": "u8", "snd_una": "u32", "cc": "str", "frac_cwnd": "u64", "alpha_used_raw": "u64",
}  # fmt: skip
EVENTS = ("ack", "alpha", "detect", "cwr", "fallback", "loss", "init", "release", "probe", "state")


def kernel_log(chance: Random) -> bytes:
    """l4strace's own format."""
    count = chance.choice((0, 1, 10, 60))
    bits = chance.choice((20, 24, 31))
    records: list[Any] = [
        {
            "type": "header", "format": "l4strace-kernel-log", "version": 1, "collector": "x",
            "kernel": "6.1", "command": ["a"], "fields": FIELDS,
            "clock": {"id": "monotonic", "unix_offset_ns": START_NS, "uncertainty_ns": 9},
            "layout": {"name": "P4", "alpha_bits": bits},
        }
    ]  # fmt: skip
    events: dict[str, int] = {}
    for i in range(count):
        records.append(_sample(i, bits, chance))
        event = records[-1]["event"]
        events[event] = events.get(event, 0) + 1
    records.append({"type": "aggregate", "name": "@c_sticky", "value": {"1": 2}})
    records.append({"type": "note", "ts_ns": 5, "text": chance.choice(TEXTS)})
    records.append({"type": "lost", "ts_ns": 5, "where": "ring", "count": 3})
    records.append(
        {"type": "trailer", "ts_ns": 9, "events": events, "lost": {"ring": 3},
         "clock": {"unix_offset_ns": START_NS, "uncertainty_ns": 9}}
    )  # fmt: skip
    odds = chance.choice((0.0, 0.003, 0.02, 0.2))
    records[1:] = [spoilt(record, chance, odds) for record in records[1:]]
    head = spoilt(records[0], chance, chance.choice((0.0, 0.0, 0.05)))
    if isinstance(head, dict):
        head = {"type": "header", "format": "l4strace-kernel-log"} | head
    return _lines([head, *records[1:]])


def _sample(i: int, bits: int, chance: Random) -> dict[str, Any]:
    unit = 1 << bits
    alpha = chance.randrange(unit + 1)
    return {
        "type": "sample", "ts_ns": 1_000_000_000 + i * 10_000_000, "event": chance.choice(EVENTS),
        "sk": chance.choice(("0x1", "0x2")), "saddr": "10.77.1.2", "daddr": "10.77.3.2",
        "sport": 46922, "dport": 5201, "snd_cwnd": chance.randrange(2, 400), "ssthresh": 99,
        "srtt_us": 10_000.0 + i, "min_rtt_us": 10_000, "delivered": i * 20, "delivered_ce": i,
        "packets_out": 5, "upscaled_alpha": alpha << 4, "alpha_raw": alpha,
        "classic_ecn_raw": chance.randrange(-10, 18) * unit, "srtt_pace_raw": 10_000 << 6,
        "g_srtt_shift": 6, "mdev_pace_raw": 400 << 6, "g_mdev_shift": 6, "rest_depth_us": 3,
        "rest_mdev_us": 5, "old_delivered": max(0, i - 1) * 20, "old_delivered_ce": max(0, i - 1),
        "round": i, "saw_ce": True, "ca_state": 0, "snd_una": i * 1448, "cc": "prague",
        "frac_cwnd": 10 << 20, "alpha_used_raw": alpha,
    }  # fmt: skip


def bpftrace(chance: Random) -> bytes:
    """bpftrace -f json."""
    records: list[Any] = []
    for i in range(chance.choice((0, 1, 30))):
        line = f"nsecs={1_000_000_000 + i * 10_000_000} event={chance.choice(EVENTS)} sk=0x1 "
        line += f"sport=46922 dport=5201 snd_cwnd={i} alpha={chance.choice(NUMBERS)} "
        line += f"classic_ecn={chance.choice(NUMBERS)} saddr={chance.choice(TEXTS)}\n"
        records.append({"type": "printf", "data": line})
    for name in ("@c_sticky", "@mdev", chance.choice(TEXTS)):
        records.append({"type": chance.choice(("map", "hist", "stats")), "data": {name: {"1": 5}}})
    records.append({"type": "lost_events", "data": {"events": 7}})
    return _lines([{"type": "attached_probes", "data": {"probes": 3}}, *_spoilt(records, chance)])


def flent(chance: Random) -> bytes:
    """A flent data file."""
    polls = [
        {"t": 1_795_256_271.0 + i / 5, "tcp_cwnd": 10.0 + i, "tcp_rtt": 10.2, "tcp_rtt_var": 0.1,
         "tcp_delivered": i * 100, "tcp_delivered_ce": i, "tcp_pacing_rate": 40.0, "x": "y"}
        for i in range(chance.choice((0, 1, 20)))
    ]  # fmt: skip
    document = {
        "metadata": {
            "NAME": "tcp_up", "KERNEL_RELEASE": chance.choice(TEXTS), "HOST": "10.77.3.2",
            "LOCAL_HOST": chance.choice(TEXTS), "EGRESS_INFO": {"src": "10.77.1.2"},
            "SERIES_META": {"TCP upload": {"CONG_CONTROL": "prague", "BYTES_SENT": 123456}},
        },
        "raw_values": {"TCP upload": polls, "Ping": [{"t": 1.0, "val": 3}]},
    }  # fmt: skip
    odds = chance.choice((0.0, 0.01, 0.1))
    text = json.dumps({key: spoilt(item, chance, odds) for key, item in document.items()})
    return text.encode()


SS_TIMES = (
    *(
        "# t={}.25",
        "# t={}.25",
        "Time: {}.5",
        "=== {} ===",
        "{}000000001",
        "---",
        "11:58:{:02.0f}x",
    ),
    *("=== 23:59:{1:02}.5 ===", "Thu Nov {1} 11:58:43 CET 2026", "Thu, {1} Nov 2026 25:58:43 PM"),
)


def ss(chance: Random) -> bytes:
    """Polls of `ss -tin`."""
    lines = []
    for i in range(chance.choice((1, 20))):
        lines.append(chance.choice(SS_TIMES).format(chance.choice((1_795_256_271 + i, 9, i)), i))
        peer = chance.choice(("10.77.3.2", "[fd00::2%eth0]", "x\x1b[31m"))
        lines.append(f"ESTAB 0 0 10.77.1.2:46922 {peer}:5201")
        cwnd = chance.choice(NUMBERS)
        lines.append(
            f"\t prague wscale:7,7 rto:211 rtt:10.{i}/0.5 mss:1448 cwnd:{cwnd} ssthresh:{cwnd} "
            f"pacing_rate {cwnd}Mbps delivered:{i * 9} delivered_ce:{cwnd} minrtt:10 "
            f"prague:(alpha:{chance.choice(NUMBERS)}%,round:{i})"
        )
    return "\n".join(lines).encode("utf-8", "replace")


def printed(chance: Random) -> bytes:
    """Text of bpftrace, with fields or columns."""
    lines = [chance.choice(("Attaching 1 probe...", "TIME_NS SADDR SPORT DADDR DPORT CWND", "x=1"))]
    for i in range(chance.choice((1, 20))):
        number, text = chance.choice(NUMBERS), chance.choice(TEXTS)
        ends = chance.choice(("10.77.1.2:46922 -> [fd00::2]:5201", f"{text}:9 -> ::1:{number}"))
        line = chance.choice((
            f"{10**9 + i} {ends} cwnd={number} srtt_us={number} sk={text}",
            f"ts_ns={10**9 + i} saddr={text} sport={number} probe={text}, alpha={number}",
            f"{10**9 + i} 10.77.1.2 46922 {text} 5201 {number}",
        ))  # fmt: skip
        lines.append(line)
    return "\n".join(lines).encode("utf-8", "replace")


def siftr(chance: Random) -> bytes:
    """siftr.log of FreeBSD."""
    version = chance.choice(("1.3.0", "1.2.6", "x"))
    lines = [f"enable_time_secs=17\tenable_time_usecs=1\tsiftrver={version}\tsysname=FreeBSD"]
    for i in range(chance.choice((1, 20))):
        number, text = chance.choice(NUMBERS), chance.choice((*TEXTS, "10.77.1.2", "fd00::1"))
        port = chance.choice((46922, number))
        lines.append(
            f"{chance.choice('iox')},0xbec491a5,17000357{i:02}.980000,{text},{port},10.77.3.2,5201,"
            f"{number},{number},2,65536,64256,7,9,4,{chance.choice((1448, 0))},{number},1,544"
        )
    return "\n".join(lines).encode("utf-8", "replace")


def trace(chance: Random) -> bytes:
    """tracefs text, with tasks that choose their own names."""
    lines = ["# tracer: nop"]
    for i in range(chance.choice((1, 20))):
        comm = chance.choice(("<idle>", "1.5: ack: sk=1", "-1 [0] 1.0: ack", "\x1b[31mred", "a b"))
        event = chance.choice((*EVENTS, "sched_switch", "tcp_probe", "p_prague_state_0"))
        number = chance.choice(NUMBERS)
        lines.append(
            f"{comm:>16}-77 [000] ..s4.  15{i:02d}.275453: {event}: (x+0x4/0x80) sk=0x1 "
            f"sport=46922 dport_be=0x5114 src=10.77.1.2:46922 dest={chance.choice(TEXTS[:4])}:5201 "
            f"classic_ecn={number} upscaled_alpha={number} snd_cwnd={number} srtt_us={number} "
            f"g_srtt_shift={number} mdev_pace_us={number} g_mdev_shift={number} "
            f"pacing_rate={number}"
        )
    return "\n".join(lines).encode("utf-8", "replace")


def host(chance: Random) -> bytes:
    """A `*.host.json`."""
    qdiscs = [{"kind": chance.choice(("fq", "dualpi2", *TEXTS)), "handle": "1:", "drops": 5,
               "parent": "root", "root": True}]  # fmt: skip
    interfaces = {chance.choice(("eth0", *TEXTS)): {"qdiscs": qdiscs}}
    document = {
        "version": 1,
        "kernel": {"release": chance.choice(TEXTS)},
        "sysctls": {
            "net.ipv4.tcp_ecn": chance.choice((*NUMBERS[:5], "1", chance.choice(TEXTS))),
            "net.ipv4.tcp_ecn_option": "0",
            "net.ipv4.tcp_congestion_control": "prague",
        },
        "modules": {"tcp_prague": {"parameters": {"prague_ecn_fallback": "0"}}},
        "interfaces": {chance.choice(("eth0", *TEXTS)): {"offloads": {"tso": True, "gro": True}}},
        "before": {"interfaces": interfaces},
        "after": {"interfaces": spoilt(interfaces, chance, 0.05)},
        "sockets": [{"cc": "prague"}, nested(chance.choice((1, 100)), True)],
    }
    odds = chance.choice((0.0, 0.02, 0.2))
    spoilt_document = {key: spoilt(item, chance, odds) for key, item in document.items()}
    return json.dumps({"format": "l4strace-host"} | spoilt_document, indent=1).encode()


KINDS: dict[str, Callable[[Random], bytes]] = {
    "kernel.ndjson": kernel_log,
    "bpftrace.json": bpftrace,
    "flent": flent,
    "ss.txt": ss,
    "trace.txt": trace,
    "bpftrace.txt": printed,
    "siftr.log": siftr,
    "host.json": host,
    **senders.KINDS,
}
"""Ending of the file -> what makes one."""


def one(kind: str, seed: str) -> bytes:
    """A file of ``kind``; one in four is damaged as bytes too."""
    chance = Random(seed)
    data = KINDS[kind](chance)
    return damaged(data, chance) if chance.random() < 0.25 else data


def _spoilt(records: list[Any], chance: Random) -> list[Any]:
    odds = chance.choice((0.0, 0.01, 0.1))
    return [spoilt(record, chance, odds) for record in records]


def _lines(records: list[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)
