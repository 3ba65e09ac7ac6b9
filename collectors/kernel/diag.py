"""Kernel state by polling inet_diag (what `ss -ti` shows): no privilege, no tracing.

TCP_INFO with the AccECN counters, and the attributes of DCTCP and Prague. A socket is written when
something about it changed since the last poll. classic_ecn cannot be seen this way.

Overhead: CPU time, most of it the kernel's walk over its socket tables, is 5.6 +- 0.8 % of a core
with 1 flow, 5.4 +- 0.4 % with 4 and 7.4 +- 1.1 % with 64, about 0.6 to 1 ms a poll
(fixtures/lab/overhead.py: ten runs each of 2 s at 100 Mbit/s on 2 cores, so busy that many of the
100 polls a second came late).

    python3 collectors diag --port 5201 > run.kernel.ndjson
"""

import argparse
import platform
import socket
import struct
import sys
import time

from log import INFINITE_SSTHRESH, Log, finish
from netlink import Sockets, address, request
from process import Stop, cannot, tell

COLLECTOR = "diag/inet_diag"
INFO, VEGAS, CONG, DCTCP = 2, 3, 4, 9
PRAGUE = (23, 20)
"""INET_DIAG_PRAGUEINFO: 23 since 5.15, 20 in older trees (SK_BPF_STORAGES in mainline)."""
UNLIMITED_RATE = 0xFFFFFFFFFFFFFFFF

TCP_INFO = (
    # offset in struct tcp_info, format, field of the log, type there
    (1, "B", "ca_state", "u8"),
    (24, "I", "packets_out", "u32"),
    (68, "I", "srtt_us", "f64"),
    (72, "I", "mdev_us", "f64"),
    (76, "I", "ssthresh", "u32"),
    (80, "I", "snd_cwnd", "u32"),
    (16, "I", "snd_mss", "u32"),
    (100, "I", "total_retrans", "u32"),
    (104, "Q", "pacing_rate", "u64"),
    (120, "Q", "bytes_acked", "u64"),
    (128, "Q", "bytes_received", "u64"),
    (148, "I", "min_rtt_us", "u32"),
    (160, "Q", "delivery_rate", "u64"),
    (176, "Q", "rwnd_limited_us", "u64"),
    (192, "I", "delivered", "u32"),
    (196, "I", "delivered_ce", "u32"),
    (5, "B", "tcp_options", "u8"),
)
ACCECN = (
    (248, "I", "received_ce", "u32"),
    (252, "I", "delivered_e1_bytes", "u32"),
    (256, "I", "delivered_e0_bytes", "u32"),
    (260, "I", "delivered_ce_bytes", "u32"),
    (264, "I", "received_e1_bytes", "u32"),
    (268, "I", "received_e0_bytes", "u32"),
    (272, "I", "received_ce_bytes", "u32"),
)
ACCECN_SIZE = 280
COMMON = {
    "ts_ns": "i64",
    "event": "str",
    "sk": "str",
    "saddr": "str",
    "daddr": "str",
    "sport": "u16",
    "dport": "u16",
    "cc": "str",
    "pacing_rate_bps": "f64",
    "alpha": "f64",
    "alpha_raw": "u64",
    "frac_cwnd": "u64",
    "round": "u32",
    "ai_ack_increase": "u64",
    "rate_bytes": "u64",
    "max_burst": "u32",
    "rtt_target": "u32",
    "prague_enabled": "bool",
    "dctcp_enabled": "bool",
    "dctcp_ab_ecn": "u32",
    "dctcp_ab_tot": "u32",
    "ecn_mode": "u8",
    "accecn_opt_seen": "u8",
    "accecn_fail_mode": "u8",
}


def kernel_version():
    """Return (major, minor) of the running kernel."""
    major, minor = platform.release().split(".")[:2]
    return int(major), int("".join(c for c in minor if c.isdigit()) or 0)


def tcp_info(raw, version):
    """Return the log's fields out of struct tcp_info as far as this kernel fills it."""
    record = {}
    for offset, code, name, _ in TCP_INFO:
        if offset + struct.calcsize(code) <= len(raw):
            record[name] = struct.unpack_from("=" + code, raw, offset)[0]
    if record.get("ssthresh", 0) >= INFINITE_SSTHRESH:
        record["ssthresh"] = None
    rate = record.pop("pacing_rate", UNLIMITED_RATE)
    if rate != UNLIMITED_RATE:
        record["pacing_rate_bps"] = float(rate * 8)
    if record.get("min_rtt_us") == 0xFFFFFFFF:
        record["min_rtt_us"] = None
    if len(raw) >= ACCECN_SIZE:
        for offset, code, name, _ in ACCECN:
            record[name] = struct.unpack_from("=" + code, raw, offset)[0]
        record.update(accecn_modes(raw, version))
    return record


def accecn_modes(raw, version):
    """Decode bytes 276..279: two u16 before Linux 7.0, bit fields from it on."""
    if version >= (7, 0):
        (bits,) = struct.unpack_from("=I", raw, 276)
        return {
            "ecn_mode": bits & 3,
            "accecn_opt_seen": bits >> 2 & 3,
            "accecn_fail_mode": bits >> 4 & 15,
        }
    fail, seen = struct.unpack_from("=HH", raw, 276)
    return {"accecn_fail_mode": fail, "accecn_opt_seen": seen}


def dctcp_info(raw):
    """Return DCTCP's state (struct tcp_dctcp_info); its alpha has 10 bits."""
    if len(raw) < 16:
        return {}
    enabled, _, alpha, ab_ecn, ab_tot = struct.unpack_from("=HHIII", raw)
    return {
        "alpha": alpha / 1024,
        "dctcp_enabled": bool(enabled),
        "dctcp_ab_ecn": ab_ecn,
        "dctcp_ab_tot": ab_tot,
    }


def prague_info(raw, snd_cwnd):
    """Return Prague's state from one of the known variants of struct tcp_prague_info.

    Alpha stays as stored: nothing in the attribute shows how wide it is. Two variants have 40
    bytes: the second word is frac_cwnd, near snd_cwnd << 20, or ai_ack_increase, at most 1 << 20.
    """
    record = {}
    if len(raw) == 16:
        record["alpha_raw"], _, _, record["max_burst"] = struct.unpack("=IIII", raw)
    elif len(raw) == 32:
        alpha, increase, burst, number, _, enabled = struct.unpack_from("=QQIII?", raw)
        record.update(alpha_raw=alpha, ai_ack_increase=increase, max_burst=burst)
        record.update(round=number, prague_enabled=enabled)
    elif len(raw) >= 36:
        alpha, second = struct.unpack_from("=QQ", raw)
        record["alpha_raw"] = alpha
        if abs((second >> 20) - (snd_cwnd or 0)) <= 4 or second > 1 << 20:
            rate, burst, number, target = struct.unpack_from("=QIII", raw, 16)
            record.update(frac_cwnd=second, rate_bytes=rate, max_burst=burst)
            record.update(round=number, rtt_target=target)
        else:
            burst, number, _, _, target = struct.unpack_from("=IIIII", raw, 16)
            record.update(ai_ack_increase=second, max_burst=burst, round=number, rtt_target=target)
    return record


def record_of(message, found, version):
    """Return one socket's sample without its time."""
    family, _, _, _, sport, dport, source, target, _, cookie = message[:10]
    record = {
        "sk": "%x" % int.from_bytes(cookie, sys.byteorder),
        "saddr": address(family, source),
        "daddr": address(family, target),
        "sport": int.from_bytes(sport, "big"),
        "dport": int.from_bytes(dport, "big"),
    }
    name = found.get(CONG, b"").split(b"\0")[0].decode(errors="replace")
    record["cc"] = name or None
    record.update(tcp_info(found.get(INFO, b""), version))
    if DCTCP in found:
        record.update(dctcp_info(found[DCTCP]))
    for number in PRAGUE if name.startswith("prague") else ():
        if number in found:
            record.update(prague_info(found[number], record.get("snd_cwnd")))
            break
    return record


def collect(arguments, stream):
    stop = Stop(arguments.duration, arguments.with_parent)
    try:
        sockets = Sockets()
        requests = [
            request(family, (INFO, VEGAS, CONG), arguments.port)
            for family in (socket.AF_INET, socket.AF_INET6)
        ]
        for message in requests:
            list(sockets.dump(message))
    except OSError as error:
        cannot("inet_diag failed: %s" % error, "modprobe tcp_diag")
    fields = dict(COMMON)
    fields.update((name, kind) for _, _, name, kind in TCP_INFO + ACCECN)
    del fields["pacing_rate"]
    log = Log(stream, COLLECTOR, fields, None, {"interval_ms": arguments.interval})
    tell({"started": COLLECTOR})
    finish(log, stop, lambda log: poll(log, stop, sockets, requests, arguments.interval))
    log.status()


def poll(log, stop, sockets, requests, interval_ms):
    """Poll at a steady pace; a poll that comes late is counted as lost, not made up for."""
    version, last, step = kernel_version(), {}, interval_ms / 1000
    due = time.monotonic()
    told = due
    while not stop:
        for message in requests:
            for fields, found in sockets.dump(message):
                now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                record = record_of(fields, found, version)
                if last.get(record["sk"]) != record:
                    last[record["sk"]] = record
                    log.sample("poll", dict({"ts_ns": now}, **record))
        now = time.monotonic()
        if now - told > 1.0:
            told = now
            log.flush()
            log.status()
        missed = int((now - due) / step)
        if missed > 1:
            log.losing("late_polls", missed - 1)
        due += step * max(1, missed)
        stop.sleep(max(0.0, due - time.monotonic()))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="diag", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, action="append", help="only sockets with this port")
    parser.add_argument("--interval", type=float, default=10.0, help="ms between polls")
    parser.add_argument("--duration", type=float, help="seconds, then stop")
    parser.add_argument("--with-parent", action="store_true", help="stop when the parent dies")
    collect(parser.parse_args(arguments), sys.stdout.buffer)
