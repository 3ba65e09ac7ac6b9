"""Words that tables hold and people read: each value, and its label, once."""

from __future__ import annotations

CODEPOINTS = {"not_ect": "Not-ECT", "ect1": "ECT(1)", "ect0": "ECT(0)", "ce": "CE"}
"""ECN codepoints (RFC 3168): part of a column's name -> label, by value on the wire from 0."""
ECN_FIELD = dict(enumerate(CODEPOINTS.values()))
"""Value of the ECN field -> label: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE (RFC 3168 section 5)."""
NOT_ECT, ECT1, ECT0, CE = range(4)
"""Values of the ECN field."""
NQB = 45
"""DSCP of traffic that builds no queue (RFC 9956)."""
ACCECN_REQUEST = 0b111
"""ACE of a SYN that requests AccECN: AE, CWR and ECE (RFC 9768 section 3.1.1)."""

PRAGUE_AS_RENO = "prague-reno"
"""`cc` of a Prague socket without working AccECN."""
PRAGUE = ("prague", PRAGUE_AS_RENO)
"""`cc` of sockets whose congestion control is Prague."""

TRANSPORTS = {
    "tcp": "TCP",
    "quic": "QUIC",
    "rtp": "RTP",
    "udp-prague": "UDP Prague",
    "udp": "UDP",
}
"""`flows.transport` -> label."""

CAPTURES = ("pcap", "pcapng")
"""`sources.kind` of inputs that hold packets."""
SENDER_LOGS = ("qlog", "udp-prague", "scream")
"""`sources.kind` of inputs that hold the state of user-space senders."""

CLASSIC_OR_PER_FLOW = "classic-or-per-flow"
"""`bottlenecks.kind` of marks at classic delays where no other flow shows whether the queue is
shared: CoDel marks by one law in its own queue and in each of fq_codel, PIE likewise in fq_pie."""

BOTTLENECKS = {
    "l4s": "L4S AQM",
    "classic": "classic AQM",
    "shallow": "shallow AQM that also marks ECT(0)",
    "per-flow": "queue per flow",
    CLASSIC_OR_PER_FLOW: "classic AQM or queue per flow",
    "fifo": "FIFO",
    "dropping": "AQM without ECN",
    "unmarked": "unmarked queue",
    "policed": "policer",
    "none": "none on this path",
    "unknown": "unknown",
}
"""`bottlenecks.kind` -> label."""

NEVER_MARK = {
    "fifo": "The buffer fills up and does not mark",
    "dropping": "An AQM drops instead of marking",
    "unmarked": "The queue does not mark",
}
"""`bottlenecks.kind` of queues that never mark -> what finding L4S402 says of each."""

EVENTS = (
    *("ack", "alpha", "detect", "cwr", "fallback", "loss", "init", "release"),
    *("probe", "poll", "state", "retransmit"),
)
"""`kernel.event`, as the schema describes them."""


class Stat:
    """Names of `stats` rows. Those of captures are also in `l4strace/native/src/stats.rs`."""

    TRUNCATED_FILE = "truncated_file"
    DAMAGED_FILE = "damaged_file"
    CAPTURE_DROPS = "capture_drops"
    UNKNOWN_LINK_TYPE = "unknown_link_type"
    NOT_IP = "not_ip"
    NOT_TCP = "not_tcp"
    IP_FRAGMENTS = "ip_fragments"
    BAD_LENGTHS = "bad_lengths"
    ODD_LENGTHS = "odd_lengths"
    HEADERS_CUT = "headers_cut"
    NO_TIMESTAMP = "no_timestamp"
    BAD_TIMESTAMPS = "bad_timestamps"
    OPAQUE = "opaque"
    SEEN_TWICE = "seen_twice"
    OUT_OF_WINDOW = "out_of_window"
    FLOWS_FOLDED = "flows_folded"
    FLOWS_TRANSLATED = "flows_translated"
    UDP_SHORT = "udp_short"

    NO_TRAILER = "no_trailer"
    LINES_UNREAD = "lines_unread"
    EVENTS_OF_OTHERS = "events_of_others"
    SAMPLES_MISSING = "samples_missing"
    SAMPLES_THINNED = "samples_thinned"
    NOTE = "note"
    RING_LOST = "ring_lost"
    EVENTS_LOST = "events_lost"
    CLOCK_STEPS = "clock_steps"
    CLOCK_OFFSET_WRONG = "clock_offset_wrong"
    ALPHA_SCALE_CORRECTED = "alpha_scale_corrected"
    ALPHA_SCALE_OVERRULED = "alpha_scale_overruled"
    ALPHA_SCALE_UNKNOWN = "alpha_scale_unknown"
    KERNEL_LOG_NOT_JOINED = "kernel_log_not_joined"
    SOCKETS_NOT_CAPTURED = "sockets_not_captured"
    COMPANION_UNREAD = "companion_unread"
    KEYS_UNUSED = "keys_unused"


ENCRYPTED = "QUIC stays encrypted"
"""Opens the detail of `keys_unused`; the reason follows."""

STATS = frozenset(value for name, value in vars(Stat).items() if name.isupper())
"""Every name, but for what a collector lost: see `lost_in`."""


def lost_in(where: str) -> str:
    """The name for samples that a collector lost at ``where`` (FORMAT.md, record `lost`)."""
    return f"{where}_lost"
