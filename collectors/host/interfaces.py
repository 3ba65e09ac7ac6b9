"""What an interface is set to: driver, speed, MTU, offloads (ethtool), qdiscs (rtnetlink)."""

import ctypes
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess

from netlink import DONE, ERROR, NLMSG, REQUEST_DUMP, attributes

SIOCETHTOOL, SIOCGIFMTU, SIOCGIFFLAGS = 0x8946, 0x8921, 0x8913
FLAG_UP = 1
GET_DRIVER = 0x03
OFFLOADS = {"tso": 0x1E, "gso": 0x23, "gro": 0x2B, "rx_checksum": 0x14, "tx_checksum": 0x16}
GET_FLAGS, SET_FLAGS, FLAG_LRO = 0x25, 0x26, 1 << 15
SETTERS = {"tso": 0x1F, "gso": 0x24, "gro": 0x2C}
MERGING = ("gro", "lro", "tso", "gso")
"""Offloads that merge packets before the capture sees them."""
RTM_GETQDISC = 38
TCM = struct.Struct("=BxxxiIII")
TCA_KIND, TCA_STATS2 = 1, 7
STATS_BASIC, STATS_QUEUE = 1, 3


def ethtool(name, command, size=8):
    """Return the answer to one ethtool command as bytes, None if the driver has none."""
    buffer = ctypes.create_string_buffer(struct.pack("=I", command).ljust(size, b"\0"), size)
    request = struct.pack("16sP8x", name.encode(), ctypes.addressof(buffer))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            fcntl.ioctl(sock, SIOCETHTOOL, request)
        except OSError:
            return None
    return buffer.raw


def offloads(name):
    """Return {offload: on} for those that the driver knows."""
    found = {}
    for label, command in OFFLOADS.items():
        answer = ethtool(name, command)
        if answer:
            found[label] = struct.unpack_from("=I", answer, 4)[0] != 0
    flags = ethtool(name, GET_FLAGS)
    if flags:
        found["lro"] = bool(struct.unpack_from("=I", flags, 4)[0] & FLAG_LRO)
    return found


def merging(name):
    """Return the offloads of an interface that are on and merge packets."""
    on = offloads(name)
    return [key for key in MERGING if on.get(key)]


def set_offload(name, offload, on):
    """Switch an offload. Raises OSError, for example without CAP_NET_ADMIN."""
    if offload == "lro":
        answer = ethtool(name, GET_FLAGS)
        flags = struct.unpack_from("=I", answer, 4)[0] if answer else 0
        value = flags | FLAG_LRO if on else flags & ~FLAG_LRO
        command = SET_FLAGS
    else:
        command, value = SETTERS[offload], int(on)
    buffer = ctypes.create_string_buffer(struct.pack("=II", command, value), 8)
    request = struct.pack("16sP8x", name.encode(), ctypes.addressof(buffer))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCETHTOOL, request)


def used():
    """Return the interfaces that are up, without loopback."""
    return [name for _, name in socket.if_nameindex() if name != "lo" and is_up(name)]


def driver(name):
    answer = ethtool(name, GET_DRIVER, 196)
    return answer[4:36].split(b"\0")[0].decode(errors="replace") if answer else None


def mtu(name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            answer = fcntl.ioctl(sock, SIOCGIFMTU, struct.pack("16s16x", name.encode()))
        except OSError:
            return None
    return struct.unpack_from("=i", answer, 16)[0]


def is_up(name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            answer = fcntl.ioctl(sock, SIOCGIFFLAGS, struct.pack("16s16x", name.encode()))
        except OSError:
            return False
    return bool(struct.unpack_from("=H", answer, 16)[0] & FLAG_UP)


def read_number(path):
    """Return the integer in a file, None for none: not every interface has a `speed`."""
    try:
        with open(path) as file:
            value = int(file.read())
    except (OSError, ValueError):
        return None
    return value if value >= 0 else None


def handle(number):
    return "root" if number == 0xFFFFFFFF else "%x:%x" % (number >> 16, number & 0xFFFF)


def qdiscs(name):
    """Return the qdiscs of an interface with their statistics; options where `tc` is installed."""
    index = socket.if_nametoindex(name)
    found = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as sock:
        sock.bind((0, 0))
        body = TCM.pack(0, index, 0, 0, 0)
        sock.send(NLMSG.pack(NLMSG.size + len(body), RTM_GETQDISC, REQUEST_DUMP, 1, 0) + body)
        done = False
        while not done:
            data, at = sock.recv(1 << 18), 0
            while at + NLMSG.size <= len(data):
                length, kind = NLMSG.unpack_from(data, at)[:2]
                if kind in (DONE, ERROR):
                    done = True
                    break
                found += qdisc(data, at + NLMSG.size, at + length, index)
                at += (length + 3) & ~3
    options = tc_options(name)
    for row in found:
        row.update(options.get((row["kind"], row["handle"]), {}))
    return found


def qdisc(data, at, end, wanted):
    """Return one RTM_NEWQDISC message as a list of no or one row."""
    _, index, number, parent, _ = TCM.unpack_from(data, at)
    if index != wanted:
        return []
    found = attributes(data, at + TCM.size, end)
    row = {
        "kind": found.get(TCA_KIND, b"").split(b"\0")[0].decode(errors="replace"),
        "handle": handle(number),
        "parent": handle(parent),
    }
    stats = attributes(found.get(TCA_STATS2, b""), 0, len(found.get(TCA_STATS2, b"")))
    if len(stats.get(STATS_BASIC, b"")) >= 12:
        row["bytes"], row["packets"] = struct.unpack_from("=QI", stats[STATS_BASIC])
    if len(stats.get(STATS_QUEUE, b"")) >= 20:
        names = ("qlen", "backlog_bytes", "drops", "requeues", "overlimits")
        row.update(zip(names, struct.unpack_from("=5I", stats[STATS_QUEUE])))
    return [row]


def tc_options(name):
    """Return {(kind, handle): {"options": ..., "more": ...}} as `tc` shows, {} without it."""
    program = shutil.which("tc", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not program:
        return {}
    try:
        run = subprocess.run(
            [program, "-s", "-d", "-j", "qdisc", "show", "dev", name],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=5,
        )
        rows = json.loads(run.stdout.decode(errors="replace") or "[]")
    except (OSError, ValueError, subprocess.SubprocessError):
        return {}
    known = {"kind", "handle", "parent", "root", "options", "bytes", "packets", "drops", "qlen"}
    known |= {"overlimits", "requeues", "backlog", "dev", "refcnt"}
    found = {}
    for row in rows:
        more = {key: value for key, value in row.items() if key not in known}
        number = row.get("handle", "0:")
        number = number + "0" if number.endswith(":") else number
        found[row.get("kind"), number] = {"options": row.get("options", {}), "statistics": more}
    return found


def setting(name):
    """Return what does not change during a run."""
    return {
        "driver": driver(name),
        "mtu": mtu(name),
        "speed_mbps": read_number("/sys/class/net/%s/speed" % name),
        "offloads": offloads(name),
    }
