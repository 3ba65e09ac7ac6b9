"""Offsets of the fields that we read in this kernel: macros for the BPF program, layouts for the
decoder."""

import re

from kernel import btf, prague_layouts

FIELDS = {
    # macro: (structure, path, most bytes that the sample has room for)
    "SPORT": ("sock", "__sk_common.skc_num", 2),
    "DPORT": ("sock", "__sk_common.skc_dport", 2),
    # skc_num is 0 once a closing socket has given its port back; this one stays
    "INET_SPORT": ("inet_sock", "inet_sport", 2),
    "FAMILY": ("sock", "__sk_common.skc_family", 2),
    "SADDR": ("sock", "__sk_common.skc_rcv_saddr", 4),
    "DADDR": ("sock", "__sk_common.skc_daddr", 4),
    "SADDR6": ("sock", "__sk_common.skc_v6_rcv_saddr", 16),
    "DADDR6": ("sock", "__sk_common.skc_v6_daddr", 16),
    "PACING_RATE": ("sock", "sk_pacing_rate", 8),
    "CA_OPS": ("inet_connection_sock", "icsk_ca_ops", 8),
    "CA_STATE": ("inet_connection_sock", "icsk_ca_state", 1),
    "CA_PRIV": ("inet_connection_sock", "icsk_ca_priv", 0),
    "SND_CWND": ("tcp_sock", "snd_cwnd", 4),
    "SSTHRESH": ("tcp_sock", "snd_ssthresh", 4),
    "SRTT": ("tcp_sock", "srtt_us", 4),
    "MDEV": ("tcp_sock", "mdev_us", 4),
    "SND_UNA": ("tcp_sock", "snd_una", 4),
    "SND_NXT": ("tcp_sock", "snd_nxt", 4),
    "DELIVERED": ("tcp_sock", "delivered", 4),
    "DELIVERED_CE": ("tcp_sock", "delivered_ce", 4),
    "PACKETS_OUT": ("tcp_sock", "packets_out", 4),
    "ECN_FLAGS": ("tcp_sock", "ecn_flags", 1),
    "SRTT_PACE": ("tcp_sock", "srtt_pace_us", 8),
    "MDEV_PACE": ("tcp_sock", "mdev_pace_us", 8),
    "CLASSIC_ECN": ("tcp_sock", "classic_ecn", 8),
    "G_SRTT_SHIFT": ("tcp_sock", "g_srtt_shift", 4),
    "G_MDEV_SHIFT": ("tcp_sock", "g_mdev_shift", 4),
}
NAMESPACE = (("NET", "sock", "__sk_common.skc_net.net"), ("INUM", "net", "ns.inum"))
"""From a socket to the number of its network namespace."""
REQUIRED_FIELDS = ("SPORT", "DPORT", "CA_OPS", "CA_PRIV", "SND_CWND", "SND_UNA")
RATE_SAMPLE = {
    # acked_sacked counts what this ACK delivered; ece_delta exists in L4STeam's trees only
    "RS_ACKED": ("acked_sacked",),
    "RS_RTT": ("rtt_us",),
    "RS_ECE": ("ece_delta", "delivered_ce"),
    "RS_LOSSES": ("losses",),
}
PRAGUE, DCTCP = "prague", "dctcp"
DCTCP_FIELDS = (
    "old_delivered",
    "old_delivered_ce",
    "prior_rcv_nxt",
    "dctcp_alpha",
    "next_seq",
    "ce_state",
    "loss_cwnd",
)
DCTCP_ALPHA_BITS = 10
"""DCTCP_MAX_ALPHA is 1024."""


class Layout:
    """Offsets of this kernel."""

    def __init__(self, kernel):
        self.macros = {}
        self.ca_state = (0, 8)
        self.kernel = kernel
        for name, (structure, path, room) in FIELDS.items():
            found = kernel.field(structure, path)
            self._put(name, found, room)
            if name == "CA_STATE" and found:
                self.ca_state = found[2], found[3] or 8
            if name == "CA_PRIV" and found:
                self.ca_size = found[1]
        # The windowed minimum is the value of the first of three samples {t, v}.
        minimum = kernel.field("tcp_sock", "rtt_min.s")
        value = kernel.field("minmax_sample", "v")
        self._put("MIN_RTT", minimum and value and (minimum[0] + value[0], 4, 0, 0), 4)
        for macro, structure, path in NAMESPACE:
            self._put(macro, kernel.field(structure, path), 0)
        name = kernel.field("tcp_congestion_ops", "name")
        self.macros["OFF_OPS_NAME"] = name[0] if name else -1
        for macro, names in RATE_SAMPLE.items():
            found = [kernel.field("rate_sample", field) for field in names]
            found = [place for place in found if place]
            self.macros["OFF_" + macro] = found[0][0] if found else -1
        self.shows_namespace = all(self.macros["OFF_" + row[0]] >= 0 for row in NAMESPACE)
        self.missing = [n for n in REQUIRED_FIELDS if self.macros["OFF_" + n] < 0]
        # prague_cong_control(sk, rs), or (sk, ack, flag, rs) since Linux 6.10
        count = kernel.callback_parameters("tcp_congestion_ops", "cong_control")
        self.rate_sample_argument = 4 if count is not None and count >= 4 else 2
        self.loss_event = kernel.enum("tcp_ca_event", "CA_EVENT_LOSS")

    def bits(self):
        """Return {field: bit} of `failed` in a sample: the reads that can fail, in order."""
        return {
            name: bit for bit, name in enumerate([*FIELDS, "MIN_RTT", *RATE_SAMPLE, "OPS_NAME"])
        }

    def _put(self, name, found, room):
        self.macros["OFF_" + name] = found[0] if found else -1
        self.macros["SIZE_" + name] = min(room, found[1]) if found else room


def symbols(pattern, path="/proc/kallsyms"):
    """Return {plain name: full name} of kernel functions; compilers append .isra.0 and the like."""
    found = {}
    matcher = re.compile(r"^\S+ [tT] ((%s)(?:\.\w+)*)(?:\s|$)" % pattern)
    with open(path) as file:
        for row in file:
            match = matcher.match(row)
            if match and ".cold" not in match.group(1):
                found.setdefault(match.group(2), match.group(1))
    return found


def prague_from_btf(types):
    """Return the header's layout of struct prague out of BTF, None if it has no such structure."""
    size = types.struct_size("prague")
    if size is None:
        return None
    offsets = {}
    for name in prague_layouts.NAMES:
        found = types.field("prague", "saw_ce" if name == "bits" else name)
        if found:
            offsets[name] = found[0]
    if "upscaled_alpha" not in offsets:
        return None
    named = name_of(offsets, size)
    return {
        "name": named or "btf",
        "found": "btf",
        # PRAGUE_ALPHA_BITS is a macro: type information cannot show it.
        "alpha_bits": None,
        "size": size,
        "offsets": offsets,
    }


def name_of(offsets, size):
    """Return the published layout with these offsets, None if there is no such layout.

    P5 and P7 have the same offsets and constants, but for the bit field: P7's has alpha_mode.
    """
    for name in ("P7", "P6", "P5", "P4", "P3", "P2", "P1"):
        if prague_layouts.TOTALS[name] == size and prague_layouts.offsets(name) == offsets:
            return name
    return None


def prague(kernel):
    """Return the layout of struct prague from type information, None without any.

    A module has its own, a built-in Prague is part of the kernel's.
    """
    return prague_from_btf(btf.load("tcp_prague", kernel) or kernel)


def dctcp(kernel):
    """Return {field: offset} of struct dctcp, from module BTF or the kernel's, None without."""
    types = btf.load("tcp_dctcp", kernel) or kernel
    if types.struct_size("dctcp") is None:
        return None
    found = {name: types.field("dctcp", name) for name in DCTCP_FIELDS}
    return {name: place[0] for name, place in found.items() if place}
