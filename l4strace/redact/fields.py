"""`key=value` fields of one line: numbers of known names, sockets, addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from l4strace.ingest.logs.samples import EVENTS as PROBED
from l4strace.redact import words
from l4strace.redact.mask import Mask
from l4strace.redact.words import vocabulary
from l4strace.schema.words import EVENTS

NUMBERS = vocabulary("""
    sport dport dport_be srtt_us mdev_us srtt_pace_us mdev_pace_us g_srtt_shift g_mdev_shift
    upscaled_alpha alpha tp_alpha alpha_raw alpha_out alpha_used ret retval classic_ecn
    frac_cwnd pacing_rate rs_rtt rs_acked rs_ece rs_losses prague_flags snd_cwnd snd_ssthresh
    ssthresh min_rtt min_rtt_us snd_una snd_nxt data_len delivered delivered_ce packets_out
    rest_depth_us rest_mdev_us old_delivered old_delivered_ce round saw_ce ca_state_byte
    ca_state ecn_flags srtt srtt_pace mdev_pace mrtt_pace snd_wnd rcv_wnd ts_ns nsecs ts time
    elapsed
""")
"""Fields that the importers of trace events and bpftrace read."""
SOCKETS = frozenset(("sk", "sock", "skaddr", "sock_cookie"))
NAMES = frozenset(("event", "probe", "func"))
"""Fields that name the function, as the importer of bpftrace reads them."""
PROBE = re.compile(r"[pr]_(.+)_\d+")
SUFFIX = re.compile(r"\.(?:isra|constprop|part)\..*")
NUMBER = re.compile(r"-?\d{1,400}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?|0x[0-9a-fA-F]{1,16}")
NOTHING = "redacted=1"
"""Stands for fields of which none is known: the line still counts as an event."""


def redacted(text: str, mask: Mask) -> str | None:
    """The fields of one line; null when it has none."""
    found = [token.partition("=") for token in text.split() if "=" in token]
    named = [(name, value.rstrip(",)")) for name, _, value in found if name]
    if not any(value for _, value in named):
        return None
    return " ".join(_kept(named, mask)) or NOTHING


def _kept(fields: list[tuple[str, str]], mask: Mask) -> Iterator[str]:
    for name, value in fields:
        if name in NUMBERS and NUMBER.fullmatch(value):
            yield f"{name}={value}"
        elif name in NAMES and value:
            yield f"{name}={event_name(value)}"
        elif name in SOCKETS and value:
            yield f"{name}={mask.socket(value)}"
        elif name in ("saddr", "daddr") and value:
            yield f"{name}={mask.host(value)}"
        elif name in ("src", "dest") and (endpoint := mask.endpoint(value)):
            yield f"{name}={endpoint}"
        elif name == "cc" and value:
            yield f"cc={words.congestion_control(value.strip(chr(34)), mask)}"


def event_name(event: str) -> str:
    """The reader's name of a known event; `other` for all that the reader leaves out."""
    bare = SUFFIX.sub("", PROBE.sub(r"\1", event))
    return bare if bare in PROBED or bare in EVENTS else "other"
