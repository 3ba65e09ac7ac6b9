"""Decode the samples of probes.bpf.c into records of the log."""

import socket
import struct

from kernel import prague_layouts
from kernel.offsets import DCTCP_ALPHA_BITS
from kernel.trace_events import text_of_in6
from log import INFINITE_SSTHRESH

EVENTS = ("ack", "alpha", "detect", "cwr", "fallback", "loss", "init", "release", "probe", "state")
HEAD = struct.Struct("=QQQQqQQQQ" + "21I" + "4H" + "16s16s16s")
NAMES = (
    "ts_ns sk pacing_rate alpha_used rs_rtt_us srtt_pace mdev_pace classic_ecn failed "
    "g_srtt_shift g_mdev_shift event argument snd_cwnd ssthresh srtt_us mdev_us min_rtt_us "
    "snd_una snd_nxt delivered delivered_ce packets_out ca_state ecn_flags rs_acked rs_ece "
    "rs_losses has_rs next_seq family sport dport padding saddr daddr cc"
).split()
"""Names of the fields, in the order of `struct sample`."""
FIELDS = {
    "ts_ns": "i64",
    "event": "str",
    "sk": "str",
    "saddr": "str",
    "daddr": "str",
    "sport": "u16",
    "dport": "u16",
    "cc": "str",
    "snd_cwnd": "u32",
    "ssthresh": "u32",
    "srtt_us": "f64",
    "mdev_us": "f64",
    "min_rtt_us": "u32",
    "snd_una": "u32",
    "snd_nxt": "u32",
    "delivered": "u32",
    "delivered_ce": "u32",
    "packets_out": "u32",
    "upscaled_alpha": "u64",
    "alpha_raw": "u64",
    "alpha": "f64",
    "classic_ecn_raw": "i64",
    "frac_cwnd": "u64",
    "srtt_pace_raw": "u64",
    "mdev_pace_raw": "u64",
    "g_srtt_shift": "u8",
    "g_mdev_shift": "u8",
    "rest_depth_us": "u32",
    "rest_mdev_us": "u32",
    "old_delivered": "u32",
    "old_delivered_ce": "u32",
    "next_seq": "u32",
    "round": "u32",
    "saw_ce": "bool",
    "ca_state": "u8",
    "new_state": "u8",
    "ecn_flags": "u8",
    "pacing_rate_bps": "f64",
    "rs_acked": "u32",
    "rs_rtt_us": "i64",
    "rs_ece": "u32",
    "rs_losses": "u32",
    "alpha_used_raw": "u64",
    "alpha_stamp": "u64",
    "ai_ack_increase": "u64",
    "rate_bytes": "u64",
    "rtt_transition_delay": "u32",
    "rtt_target": "u32",
}
KEPT = (
    "upscaled_alpha frac_cwnd rest_depth_us rest_mdev_us old_delivered old_delivered_ce next_seq "
    "round alpha_stamp ai_ack_increase rate_bytes rtt_transition_delay rtt_target"
).split()
"""Fields of struct prague that go to the log under their own names."""
UNLIMITED = (0xFFFFFFFFFFFFFFFF, 0xFFFFFFFF)
NO_RTT = 0xFFFFFFFF


def prague_state(image, layout):
    """Return the fields of struct prague in `image`, the bytes of icsk_ca_priv."""
    found = {}
    for name, at in layout["offsets"].items():
        size = prague_layouts.SIZES[name]
        if at + size <= len(image):
            found[name] = int.from_bytes(image[at : at + size], "little")
    bits = found.pop("bits", None)
    if bits is not None:
        found["saw_ce"] = bool(bits >> prague_layouts.SAW_CE_BIT & 1)
    return found


def dctcp_state(image, offsets):
    """Return the fields of struct dctcp in `image`, with alpha as a share."""
    found = {}
    for name, at in offsets.items():
        if at + 4 <= len(image):
            found[name] = int.from_bytes(image[at : at + 4], "little")
    record = {n: found.get(n) for n in ("old_delivered", "old_delivered_ce", "next_seq")}
    if "dctcp_alpha" in found:
        record["alpha"] = found["dctcp_alpha"] / (1 << DCTCP_ALPHA_BITS)
    return record


COMMON = (
    # field of the sample, what reads it
    ("snd_una", "SND_UNA"),
    ("snd_nxt", "SND_NXT"),
    ("snd_cwnd", "SND_CWND"),
    ("delivered", "DELIVERED"),
    ("delivered_ce", "DELIVERED_CE"),
    ("packets_out", "PACKETS_OUT"),
    ("ecn_flags", "ECN_FLAGS"),
    ("ca_state", "CA_STATE"),
    ("ssthresh", "SSTHRESH"),
    ("srtt_us", "SRTT"),
    ("mdev_us", "MDEV"),
    ("min_rtt_us", "MIN_RTT"),
)
TCP_PRAGUE = (
    # field of the log, what reads it, field of the sample
    ("srtt_pace_raw", "SRTT_PACE", "srtt_pace"),
    ("mdev_pace_raw", "MDEV_PACE", "mdev_pace"),
    ("g_srtt_shift", "G_SRTT_SHIFT", "g_srtt_shift"),
    ("g_mdev_shift", "G_MDEV_SHIFT", "g_mdev_shift"),
    ("classic_ecn_raw", "CLASSIC_ECN", "classic_ecn"),
)
RATE = (("rs_acked", "RS_ACKED"), ("rs_ece", "RS_ECE"), ("rs_losses", "RS_LOSSES"))
SETTLED = 1
"""The argument of an `ack`: the program knew where next_seq is and derived the updates itself."""


class Decoder:
    """Turns raw samples into records. `mask` hides kernel addresses."""

    def __init__(self, layout, prague, dctcp, mask):
        self.kernel = layout
        self.prague = prague
        self.dctcp = dctcp
        self.mask = mask
        bits = layout.bits()
        self.bits = {name: 1 << bits[name] for name in bits if layout.macros["OFF_" + name] >= 0}

    def split(self, raw):
        """Return (values by name, bytes of icsk_ca_priv)."""
        values = dict(zip(NAMES, HEAD.unpack_from(raw)))
        values["cc"] = values["cc"].split(b"\0")[0].decode(errors="replace")
        return values, raw[HEAD.size : HEAD.size + self.kernel.ca_size]

    def was_read(self, values, macro):
        """Return whether this kernel has the field and the read of it did not fail."""
        bit = self.bits.get(macro)
        return bit is not None and not values["failed"] & bit

    def record(self, values, image):
        """Return (event, record of the log)."""
        event = EVENTS[values["event"]]
        record = self.common(values)
        if event == "state":
            record["new_state"] = values["argument"]
        if values["has_rs"]:
            record.update((n, values[n]) for n, macro in RATE if self.was_read(values, macro))
            if self.was_read(values, "RS_RTT") and values["rs_rtt_us"] >= 0:
                record["rs_rtt_us"] = values["rs_rtt_us"]
        if values["cc"] == "prague":
            record.update(self.prague_record(values, image))
        elif values["cc"] == "dctcp" and self.dctcp and self.was_read(values, "CA_PRIV"):
            record.update(dctcp_state(image, self.dctcp))
        if event == "fallback":
            record["alpha_used_raw"] = values["alpha_used"]
        return event, record

    def common(self, values):
        """Return what every socket has; what could not be read is left out."""
        record = {"ts_ns": values["ts_ns"], "sk": "%x" % (values["sk"] ^ self.mask)}
        if self.was_read(values, "FAMILY"):
            record["saddr"], record["daddr"] = addresses(values)
        record.update(sport=values["sport"], dport=values["dport"], cc=values["cc"])
        record.update(
            (name, values[name]) for name, macro in COMMON if self.was_read(values, macro)
        )
        shift, bits = self.kernel.ca_state
        if "ca_state" in record:
            record["ca_state"] = values["ca_state"] >> shift & (1 << bits) - 1
        if values["ssthresh"] >= INFINITE_SSTHRESH:
            record["ssthresh"] = None
        for name, scale in (("srtt_us", 8), ("mdev_us", 4)):
            if name in record:
                record[name] /= scale
        if values["min_rtt_us"] == NO_RTT:
            record["min_rtt_us"] = None
        if self.was_read(values, "PACING_RATE") and values["pacing_rate"] not in UNLIMITED:
            record["pacing_rate_bps"] = values["pacing_rate"] * 8.0
        return record

    def prague_record(self, values, image):
        """Return what only Prague has; of struct prague nothing while its layout is unknown."""
        record = {
            n: values[field] for n, macro, field in TCP_PRAGUE if self.was_read(values, macro)
        }
        raw = record.get("classic_ecn_raw", 0)
        if raw >> 63:
            record["classic_ecn_raw"] = raw - (1 << 64)
        if self.prague and self.was_read(values, "CA_PRIV"):
            state = prague_state(image, self.prague)
            record.update((name, state[name]) for name in KEPT if name in state)
            record["saw_ce"] = state.get("saw_ce")
        return record


def addresses(values):
    if values["family"] == socket.AF_INET6:
        return text_of_in6(values["saddr"]), text_of_in6(values["daddr"])
    return tuple(socket.inet_ntop(socket.AF_INET, values[n][:4]) for n in ("saddr", "daddr"))
