"""Logs of `ss -tin`: times, sockets, TCP's own numbers; no processes, users, interfaces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from l4strace.ingest.logs import poll_times
from l4strace.ingest.logs.ss import AS_RENO, POLL
from l4strace.redact import words
from l4strace.redact.lines import UNREAD, of_text
from l4strace.redact.mask import Mask
from l4strace.redact.words import vocabulary

TIME = re.compile(r"\s*(?:#\s*)?(?:t=)?\d{9,10}(?:\.\d+)?(?=\s|$)")
"""Seconds since 1970, on a line of their own or before other text."""
SOCKET = re.compile(
    r"\s*(?:tcp\s+)?(?P<state>[A-Z][A-Z0-9-]{2,14})\s+(?P<queues>\d+\s+\d+)\s+"
    r"(?P<here>\S+:\d+)\s+(?P<there>\S+:\d+)"
)
NUMBERS = vocabulary("""
    wscale rto backoff rtt ato mss pmtu rcvmss advmss cwnd ssthresh bytes_sent bytes_retrans
    bytes_acked bytes_received segs_out segs_in data_segs_out data_segs_in lastsnd lastrcv
    lastack delivered delivered_ce busy rwnd_limited sndbuf_limited unacked retrans lost sacked
    dsack_dups fackets reordering reord_seen rcv_rtt rcv_space rcv_ooopack snd_wnd rcv_wnd
    rehash minrtt notsent rcv_ssthresh tcp-ulp-mptcp received_ce received_e0 received_e1
    received_ce_bytes
""")
RATES = frozenset(("send", "pacing_rate", "delivery_rate", "max_pacing_rate"))
FLAGS = vocabulary("""
    ts sack ecn ecnseen accecn app_limited fastopen cookie
""")
PART = re.compile(
    r"(alpha|ai_ack_increase|max_burst|round|rtt_indep|ce_state|ab_ecn|ab_tot|bw|mrtt|"
    r"pacing_gain|cwnd_gain|rtt_transition|fallback|classic_ecn|frac_cwnd|wnd):"
    r"(-?[\d.]+(?:[eE][+-]?\d+)?(?:%|[kKMGT]?bps)?|rate|scalable|none|additive)"
)
NUMBER = r"\d+(?:\.\d*)?(?![\d.])"
VALUE = re.compile(
    rf"-?{NUMBER}(?:[eE][+-]?\d{{1,3}})?(?:[/,]{NUMBER})*(?:ms|us|s)?(?:\({NUMBER}%\))?"
)
"""What a reader takes of a value: the numbers that it begins with, and no address."""
RATE = re.compile(r"[\d.]+[kKMGT]?bps")


def redacted(blocks: Iterable[bytes], mask: Mask) -> Iterator[bytes]:
    """Blocks of whole lines -> the same with every line redacted, in the same order."""
    return of_text(blocks, lambda line: _line(line, mask))


def _line(line: str, mask: Mask) -> str:
    time = TIME.match(line)
    if time is None and (alone := time_line(line)):
        return alone
    rest = line[time.end() :] if time else line
    socket = SOCKET.match(rest)
    shown = time[0].strip() if time else ""
    if socket is not None:
        ends = [mask.endpoint(_unzoned(socket[name])) for name in ("here", "there")]
        if None in ends:
            return shown
        state = socket["state"] if socket["state"] in STATES else "ESTAB"
        start = f"{state} {' '.join(socket['queues'].split())} {ends[0]} {ends[1]}"
        rest = rest[socket.end() :]
        return " ".join((*filter(None, [shown, start]), *_info(rest, mask)))
    kept = " ".join(_info(rest, mask))
    indent = "\t " if kept and rest[:1].isspace() and not time else ""
    # Where other text stands shows whether a log begins with a whole poll.
    other = UNREAD if line.strip() and not POLL.match(line) else ""
    return indent + " ".join(filter(None, [shown, kept])) or other


def time_line(line: str) -> str:
    """A line that is a time or separates polls, without its zone; nothing for any other line."""
    if (ns := poll_times.since_1970(line)) is not None:
        return f"{ns // 10**9}.{ns % 10**9:09}"
    if (ns := poll_times.of_day(line)) is not None:
        minutes, seconds = divmod(ns // 10**9, 60)
        return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}.{ns % 10**9:09}"
    return "---" if re.match(poll_times.SEPARATOR, line) else ""


STATES = vocabulary("""
    ESTAB SYN-SENT SYN-RECV FIN-WAIT-1 FIN-WAIT-2 TIME-WAIT CLOSE-WAIT LAST-ACK CLOSING LISTEN
    UNCONN
""")


def _unzoned(endpoint: str) -> str:
    """`[fe80::1%eth0]:80` and `fe80::1%eth0:80` without the name of the interface."""
    return re.sub(r"%[^\]:]*", "", endpoint)


def _number(value: str) -> str:
    kept = VALUE.match(value)
    if kept is None:
        return "?"
    return kept[0] if kept.end() == len(value) else kept[0] + "?"


def _info(text: str, mask: Mask) -> Iterator[str]:
    """TCP's own words and numbers, in their order."""
    tokens = text.split()
    for at, token in enumerate(tokens):
        name, colon, value = token.partition(":")
        follower = tokens[at + 1] if at + 1 < len(tokens) else ""
        if token in FLAGS:
            yield token
        elif colon and name in NUMBERS:
            yield f"{name}:{_number(value)}"
        elif name == "sk" and re.fullmatch("[0-9a-f]+", value):
            yield f"sk:{mask.socket(value)}"
        elif token in RATES and RATE.fullmatch(follower):
            yield f"{token} {follower}"
        elif not colon and follower.startswith(("wscale:", "rto:")):
            yield words.congestion_control(token, mask)
        elif re.fullmatch(AS_RENO, token):
            yield token
        elif colon and name in words.CONGESTION_CONTROLS and value.startswith("("):
            kept = [part for part in value.strip("()").split(",") if PART.fullmatch(part)]
            yield f"{name}:({','.join(kept)})"
