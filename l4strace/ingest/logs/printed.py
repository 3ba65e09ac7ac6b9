"""Logs of one line a sample that are neither JSON nor trace events: each line becomes fields.

- bpftrace in its default form, as text: `key=value` fields, with a time as the first number of a
  line or as a field; or columns under a header. Fields are named and scaled as `bpftrace` says.
- `/proc/net/tcpprobe`, the module of kernels before 4.16. Its srtt counts as microseconds, which
  it is from 3.15 on; its times count from its start.
- FreeBSD's siftr(4), version 1.3: windows in bytes become packets of the flow's own size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import polars as pl

from l4strace.core import _native
from l4strace.ingest.logs import bpftrace, tcp_probe
from l4strace.ingest.logs.blocks import blocks
from l4strace.ingest.logs.samples import INFINITE_SSTHRESH, Log
from l4strace.ingest.logs.thin import Keeper
from l4strace.schema.words import Stat

Fields = Callable[[str], str]
"""Parses a line into `key=value` fields; the text is empty where the line holds no sample."""

ENDPOINTS = re.compile(r"\[?([\da-fA-F:.]+)\]?:(\d+)\s*(?:->|>|=>)\s*\[?([\da-fA-F:.]+)\]?:(\d+)")
FIRST_TIME = re.compile(r"\s*(\d{6,19})[:,]?(?=\s)", re.ASCII)
"""`nsecs`, which a script prints without a name; `elapsed` has as many digits from 1 ms on."""
WORD = re.compile(r"[A-Za-z_][\w().%-]*")
ALIASES = {
    "time_ns": "ts_ns", "timestamp": "ts_ns", "timestamp_ns": "ts_ns",
    "cwnd": "snd_cwnd", "laddr": "saddr", "lport": "sport", "raddr": "daddr", "rport": "dport",
    "func": "event", "probe": "event", "sock": "sk",
}  # fmt: skip
"""Names that scripts give -> those of `kprobe_events`."""
TEXT_BEGINS = re.compile(
    rb"\A(?:\s*Attaching \d+ probe|[^\n]*?(?:^|\s)(?:ts_ns|nsecs)=\d+\s"
    rb"|\s*\d{10,19}[:,]?\s[^\n]*\w=|\s*(?:TIME_NS|TS_NS|NSECS|TIMESTAMP(?:_NS)?)\s)",
    re.IGNORECASE,
)
PROBE_LINE = re.compile(
    r"(\d{1,10})\.(\d{9}) (\S+:\d+) (\S+:\d+) (\d+) (0x[\da-f]+) (0x[\da-f]+) (\d+) (\d+) (\d+) "
    r"(\d+)(?: (\d+))?\s*",
    re.ASCII,
)
PROBE_BEGINS = re.compile(rb"^\d{1,10}\.\d{9} \S+:\d+ \S+:\d+ \d+ 0x[\da-f]+ 0x[\da-f]+ ", re.M)
SIFTR_BEGINS = re.compile(rb"\Aenable_time_secs=\d+\s")
SIFTR_STATED = re.compile(
    r"enable_time_secs=\d{1,10}\t(?:enable_time_usecs=\d{1,6}\t)?siftrver=\d{1,4}\.\d{1,4}"
)
ADDRESS = re.compile(r"[\da-fA-F:.]{2,45}", re.ASCII)
SIFTR_NUMBER = re.compile(r"\d{1,18}", re.ASCII)
SIFTR_VERSION = (1, 3)
"""From here on the RTT is in microseconds."""
SIFTR_VALUES = 17
"""Values of a line up to the RTT."""
UNREADABLE = (
    "text of bpftrace without a time and known fields in its lines; print fields with names "
    '(printf "ts_ns=%llu sport=%d snd_cwnd=%u ...") or record with: bpftrace -f json'
)


def read_bpftrace(path: str) -> Log:
    """Reads text that bpftrace printed. Raises ValueError when no line is a sample."""
    log = Log(path, "bpftrace", clock="monotonic")
    log = _read(log, bpftrace_fields(), bpftrace.samples)
    if log.samples.is_empty():
        raise ValueError(UNREADABLE)
    return log


def read_tcpprobe(path: str) -> Log:
    """Reads a copy of /proc/net/tcpprobe."""
    return _read(Log(path, "tcp-probe"), _tcpprobe, tcp_probe.samples)


def read_siftr(path: str) -> Log:
    """Reads siftr.log of FreeBSD."""
    log = Log(path, "siftr", clock="realtime", unix_offset_ns=0)
    return _read(log, siftr_fields(), tcp_probe.samples)


def _read(log: Log, fields: Fields, samples: Callable[[pl.DataFrame], pl.DataFrame]) -> Log:
    keeper, lines, unread = Keeper(), _native.LogLines("fields"), 0

    def keep(table: _native.ArrowTable | None) -> None:
        if table is not None:
            keeper.add(_named(samples(pl.DataFrame(table))))

    for block in blocks(log.path, log):
        found = [fields(line) for line in _lines(bytes(block)) if line.strip()]
        unread += found.count("")
        keep(lines.feed("".join(f"{line}\n" for line in found if line).encode()))
    keep(lines.finish())
    log.samples = keeper.finish()
    log.records = log.samples.height + keeper.thinned
    log.lose(Stat.LINES_UNREAD, unread, "info", "Lines that are no samples.")
    log.lose(Stat.SAMPLES_THINNED, keeper.thinned, "info", keeper.WHY)
    return log


def _lines(block: bytes) -> Iterable[str]:
    return block.decode("utf-8", "replace").split("\n")


def _named(samples: pl.DataFrame) -> pl.DataFrame:
    """Each socket by its addresses and ports, where the log gives it no name."""
    ends = [pl.col(name).cast(pl.String) for name in ("saddr", "sport", "daddr", "dport")]
    four = pl.format("{}:{}>{}:{}", *(end.fill_null("?") for end in ends))
    return samples.with_columns(sk=pl.coalesce("sk", four))


def bpftrace_fields() -> Fields:
    """For the lines of one file, of which the first may name columns."""
    columns: list[str] = []

    def fields(line: str) -> str:
        words = line.split()
        if "=" in line:
            return _pairs(line)
        if len(words) > 1 and all(WORD.fullmatch(word) for word in words) and not columns:
            columns.extend(_name(word) for word in words)
            return ""
        if len(words) != len(columns) or not words[0][:1].isdigit():
            return ""
        return " ".join(f"{name}={word}" for name, word in zip(columns, words, strict=True))

    return fields


def _pairs(line: str) -> str:
    """`key=value` fields, what stands before them by its form."""
    ends = ENDPOINTS.search(line)
    pairs = [part for part in line.replace(",", " ").split() if "=" in part[1:]]
    named = [(_name(name), value) for name, _, value in (part.partition("=") for part in pairs)]
    names = {name for name, _ in named}
    start = FIRST_TIME.match(line)
    if not names.intersection(bpftrace.TIMES):
        if start is None:
            return ""
        named.insert(0, ("ts_ns", start[1]))
    if ends is not None and not names.intersection(("sport", "dport")):
        named += zip(("saddr", "sport", "daddr", "dport"), ends.groups(), strict=True)
    return " ".join(f"{name}={value}" for name, value in named)


def _name(word: str) -> str:
    lower = word.lower()
    return ALIASES.get(lower, lower)


def _tcpprobe(line: str) -> str:
    found = PROBE_LINE.fullmatch(line)
    if found is None:
        return ""
    seconds, ns, src, dest, length, nxt, una, cwnd, ssthresh, wnd, srtt, _ = found.groups()
    return (
        f"ts_ns={int(seconds) * 10**9 + int(ns)} src={src} dest={dest} data_len={length} "
        f"snd_nxt={nxt} snd_una={una} snd_cwnd={cwnd} ssthresh={ssthresh} snd_wnd={wnd} "
        f"srtt={srtt}"
    )


def siftr_fields() -> Fields:
    """For the lines of siftr.log, of which the first states the version."""
    version = (0, 0)

    def fields(line: str) -> str:
        nonlocal version
        if found := re.search(r"\bsiftrver=(\d{1,4})\.(\d{1,4})", line):
            version = (int(found[1]), int(found[2]))
        values = line.split(",")
        if len(values) < SIFTR_VALUES or values[0] not in ("i", "o"):
            return ""
        time = re.fullmatch(r"(\d{1,10})\.(\d{6})", values[2], re.ASCII)
        ports_and_numbers = (*values[4:9:2], values[7], values[8], *values[15:17])
        known = all(map(SIFTR_NUMBER.fullmatch, ports_and_numbers))
        if time is None or not known or not all(map(ADDRESS.fullmatch, values[3:7:2])):
            return ""
        src, dest = (
            f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
            for address, port in (values[3:5], values[5:7])
        )
        ssthresh, cwnd, size, srtt = (int(values[at]) for at in (7, 8, 15, 16))
        size = size or 1
        bound = INFINITE_SSTHRESH if ssthresh >= INFINITE_SSTHRESH >> 1 else ssthresh // size
        rtt = f" srtt={srtt}" if version >= SIFTR_VERSION else ""
        ns = int(time[1]) * 10**9 + int(time[2]) * 1000
        return f"ts_ns={ns} src={src} dest={dest} snd_cwnd={cwnd // size} ssthresh={bound}{rtt}"

    return fields
