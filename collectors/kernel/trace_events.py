"""The tracepoints that we read: their binary form from `format`, and their line in the log."""

import json
import os
import re
import socket
import struct

from log import INFINITE_SSTHRESH

FIELD = re.compile(r"field:(.+?)\s*(\w+)(\[\d+\])?;\s*offset:(\d+);\s*size:(\d+);\s*signed:(\d);")
INTEGERS = {(1, 0): "B", (2, 0): "H", (4, 0): "I", (8, 0): "Q"}
INTEGERS.update({(1, 1): "b", (2, 1): "h", (4, 1): "i", (8, 1): "q"})

PROBE = (
    # field of tcp_probe, field of the log, type there
    ("data_len", "data_len", "u32"),
    ("snd_nxt", "snd_nxt", "u32"),
    ("snd_una", "snd_una", "u32"),
    ("snd_cwnd", "snd_cwnd", "u32"),
    ("ssthresh", "ssthresh", "u32"),
    ("srtt", "srtt_us", "f64"),
    ("snd_wnd", "snd_wnd", "u32"),
    ("rcv_wnd", "rcv_wnd", "u32"),
    # L4STeam's longer form: srtt_pace and mdev_pace are unshifted there
    ("min_rtt", "min_rtt_us", "u32"),
    ("srtt_pace", "srtt_pace_us", "f64"),
    ("mdev_pace", "mdev_pace_us", "f64"),
    ("mrtt_pace", "mrtt_pace_us", "u32"),
    ("classic_ecn", "classic_ecn_raw", "i64"),
    ("alpha", "alpha_raw", "u64"),
)
COMMON = {
    "ts_ns": "i64",
    "event": "str",
    "sk": "str",
    "saddr": "str",
    "daddr": "str",
    "sport": "u16",
    "dport": "u16",
}


class Format:
    """Names, offsets and sizes of one tracepoint, as the kernel's `format` file states them."""

    def __init__(self, text):
        self.id = int(re.search(r"^ID: (\d+)", text, re.M).group(1))
        self.fields = {}
        self.arrays = set()
        for _, name, array, offset, size, signed in FIELD.findall(text):
            self.fields[name] = (int(offset), int(size), int(signed))
            if array:
                self.arrays.add(name)

    def struct(self, names):
        """Return a Struct that unpacks `names` in this order of offsets, and that order."""
        ordered = sorted(names, key=lambda name: self.fields[name][0])
        at, code = 0, "="
        for name in ordered:
            offset, size, signed = self.fields[name]
            kind = "%ds" % size if name in self.arrays else INTEGERS[size, signed]
            code += "%dx%s" % (offset - at, kind) if offset > at else kind
            at = offset + size
        return struct.Struct(code), ordered


def text_of_sockaddr(raw):
    """Return the address in a sockaddr_in or sockaddr_in6 as text, None for neither."""
    family = struct.unpack_from("=H", raw)[0]
    if family == socket.AF_INET:
        return socket.inet_ntop(socket.AF_INET, raw[4:8])
    if family == socket.AF_INET6:
        return text_of_in6(raw[8:24])
    return None


def text_of_in6(raw):
    """Return an IPv6 address as text; a mapped IPv4 address as IPv4, as on the wire."""
    if raw[:12] == b"\0" * 10 + b"\xff\xff":
        return socket.inet_ntop(socket.AF_INET, raw[12:])
    return socket.inet_ntop(socket.AF_INET6, raw)


class Probe:
    """tcp:tcp_probe: fires for each packet received on an established socket, before it counts."""

    name = "tcp_probe"
    event = "probe"

    def __init__(self, form, owns):
        self.id = form.id
        self.owns = owns
        self.present = [row for row in PROBE if row[0] in form.fields]
        self.extended = "classic_ecn" in form.fields
        names = ["saddr", "daddr", "sport", "dport", "sock_cookie"] + [
            row[0] for row in self.present
        ]
        names = [name for name in names if name in form.fields]
        self.struct, self.order = form.struct(names)
        self.heads = {}
        where = {name: index for index, name in enumerate(self.order)}
        # One sockaddr pair and cookie make the constant head of a socket's lines.
        identity = ("saddr", "daddr", "sport", "dport", "sock_cookie")
        self.key = [where[name] for name in identity if name in where]
        self.values = [where[row[0]] for row in self.present]
        self.ssthresh = where["ssthresh"]
        body = ",".join('"%s":%%d' % row[1] for row in self.present)
        self.template = '{"type":"sample","ts_ns":%%d,"event":"probe",%%s,%s}\n' % body
        without = ",".join('"%s":%%d' % row[1] for row in self.present if row[0] != "ssthresh")
        self.without_ssthresh = '{"type":"sample","ts_ns":%%d,"event":"probe",%%s,%s}\n' % without
        self.finite_values = [index for index in self.values if index != self.ssthresh]

    def fields(self):
        return {row[1]: row[2] for row in self.present}

    def socket(self, values):
        key = tuple(values[index] for index in self.key)
        if key not in self.heads:
            saddr, daddr = text_of_sockaddr(key[0]), text_of_sockaddr(key[1])
            self.heads[key] = head_of(self.owns, saddr, daddr, *key[2:])
        return self.heads[key]

    def line(self, now, page, at):
        """Return the sample's line, None for a socket that is not recorded."""
        values = self.struct.unpack_from(page, at)
        head = self.socket(values)
        if head is None:
            return None
        if values[self.ssthresh] >= INFINITE_SSTHRESH:
            kept = [values[index] for index in self.finite_values]
            return (self.without_ssthresh % (now, head, *kept)).encode()
        return (self.template % (now, head, *[values[index] for index in self.values])).encode()


def head_of(owns, saddr, daddr, sport, dport, cookie=None):
    """Return the part of a line that names the socket, None if `owns` says that it is not ours.

    Kernel pointers stay out of the log.
    """
    if owns and saddr and not owns(saddr, daddr, sport, dport, cookie):
        return None
    named = {"sk": "%x" % cookie if cookie else None, "saddr": saddr, "daddr": daddr}
    named.update(sport=sport, dport=dport)
    return json.dumps({k: v for k, v in named.items() if v is not None}, separators=(",", ":"))[
        1:-1
    ]


class Change:
    """A tracepoint with addresses as arrays: tcp_cong_state_set and tcp_retransmit_skb."""

    NAMES = ("sport", "dport", "family", "saddr", "daddr", "saddr_v6", "daddr_v6")

    def __init__(self, form, owns, name, event, own, log_name, kind):
        self.name, self.event, self.id = name, event, form.id
        self.owns, self.heads = owns, {}
        self.log_name, self.kind = log_name, kind
        names = [n for n in (*self.NAMES, own) if n in form.fields]
        self.struct, order = form.struct(names)
        self.order = [("own" if n == own else n) for n in order]

    def fields(self):
        return {self.log_name: self.kind}

    def socket(self, values):
        if values.get("family", socket.AF_INET) == socket.AF_INET6:
            saddr, daddr = text_of_in6(values["saddr_v6"]), text_of_in6(values["daddr_v6"])
        else:
            saddr = socket.inet_ntop(socket.AF_INET, values["saddr"])
            daddr = socket.inet_ntop(socket.AF_INET, values["daddr"])
        key = saddr, daddr, values["sport"], values["dport"]
        if key not in self.heads:
            self.heads[key] = head_of(self.owns, *key)
        return self.heads[key]

    def line(self, now, page, at):
        values = dict(zip(self.order, self.struct.unpack_from(page, at)))
        head = self.socket(values)
        if head is None:
            return None
        text = '{"type":"sample","ts_ns":%d,"event":"%s",%s,"%s":%d}\n'
        return (text % (now, self.event, head, self.log_name, values["own"])).encode()


CHANGES = (
    # The tracepoint fires before icsk_ca_state changes and carries the state that follows.
    ("tcp_cong_state_set", "state", "cong_state", "new_state", "u8"),
    ("tcp_retransmit_skb", "retransmit", "state", "tcp_state", "u8"),
)


def load(folder, owns=None):
    """Return readers for the tracepoints that this kernel has.

    Where there is `owns`, they read the sockets for which it is true, given by addresses, ports and
    cookie.
    """
    found = []
    for name in ("tcp_probe", *tuple(row[0] for row in CHANGES)):
        try:
            with open(os.path.join(folder, name, "format")) as file:
                form = Format(file.read())
        except OSError:
            continue
        rows = [row for row in CHANGES if row[0] == name]
        found.append(Change(form, owns, *rows[0]) if rows else Probe(form, owns))
    return found


def fields(events):
    """Return name and type of every field that samples of these events may carry."""
    declared = dict(COMMON)
    for event in events:
        declared.update(event.fields())
    return declared


def layout(events):
    """Return the header's `layout` for L4STeam's tcp_probe, None for the mainline one."""
    if any(getattr(event, "extended", False) for event in events):
        return {"name": "tcp_probe", "found": "tracepoint", "alpha_bits": None}
    return None
