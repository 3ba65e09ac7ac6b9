"""Logs of `ss -tin` taken again and again, with times between or before the lines.

Times: a line of its own (`# t=1795252715.257886`, `1795252715.25`, ISO 8601) or a prefix of every
line, as moreutils' `ts '%.s'` writes. Sockets may take two lines or, with -O, one. The `ss` of
L4STeam's iproute2 adds `prague:(alpha:4.7%,...)`. It always divides alpha by 2^20: on a 24-bit
kernel the percentage is 16 times too large. classic_ecn is in no version of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from l4strace.ingest.logs.blocks import blocks
from l4strace.ingest.logs.samples import Log, shaped
from l4strace.ingest.logs.thin import Keeper
from l4strace.schema.words import Stat

BATCH_CHARS = 1 << 24
"""Most text that is held before its complete records are parsed: about 10,000 polls."""
LAST_CHARS = 1 << 12
"""Characters at the end of the text that are searched first for its last socket: a few sockets."""
EPOCH = r"^(?:#\s*)?(?:t=)?(\d{9,10})(?:\.(\d+))?(?:\s+|$)"
ISO = r"^(?:#\s*)?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?)(Z|[+-]\d\d:?\d\d)?\s*$"
SOCKET = r"^(?:tcp\s+)?([A-Z][A-Z0-9-]{2,})\s+\d+\s+\d+\s+(\S+):(\d+)\s+(\S+):(\d+)"
BEGIN = re.compile(
    r"^(?:(?:#\s*)?(?:t=)?\d{9,10}(?:\.\d+)?\s+)?"
    r"(?:tcp\s+)?[A-Z][A-Z0-9-]{2,}\s+\d+\s+\d+\s+\S+:\d+",
    re.MULTILINE,
)
"""The line that begins a socket, after the time that moreutils' `ts` puts before it."""
ALPHA_UNIT = 1 << 20
"""Divisor of alpha in L4STeam's ss, whatever the kernel's scale."""
SCALE = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def read(path: str) -> Log:
    """Reads one file."""
    log, keeper = Log(path, "ss", clock="realtime", unix_offset_ns=0), Keeper()
    clock: int | None = None
    for block in _blocks(path, log):
        lines, clock = _timed(block, clock)
        keeper.add(_samples(lines))
    log.samples = keeper.finish()
    log.records = log.samples.height + keeper.thinned
    log.lose(Stat.SAMPLES_THINNED, keeper.thinned, "info", keeper.WHY)
    return log


def _blocks(path: str, log: Log) -> Iterator[str]:
    """Text that ends before the line of a socket, so that no socket is torn in two."""
    held = ""
    for block in blocks(path, log, BATCH_CHARS // 16):
        held += bytes(block).decode("utf-8", "replace")
        if len(held) >= BATCH_CHARS:
            cut = _complete(held)
            yield held[:cut]
            held = held[cut:]
    if held:
        yield held


def _complete(held: str) -> int:
    """Length up to the last socket; of text without sockets all whole lines: it is not kept."""
    size = LAST_CHARS
    while True:
        after = max(0, len(held) - size)
        begins = [match.start() for match in BEGIN.finditer(held, after) if match.start()]
        # ``after`` may fall inside the time before a socket: then the first match lacks its time.
        if len(begins) > 1 or not after:
            return begins[-1] if begins else held.rfind("\n") + 1 or len(held)
        size *= 2


def _timed(block: str, clock: int | None) -> tuple[pl.DataFrame, int | None]:
    """Lines that are not times, each with the last time before it; and the time of the last."""
    line = pl.col("line")
    fraction = line.str.extract(EPOCH, 2).fill_null("").str.pad_end(9, "0").str.head(9)
    epoch_ns = (line.str.extract(EPOCH, 1) + fraction).cast(pl.Int64, strict=False)
    frame = pl.DataFrame({"line": block.split("\n")}).with_columns(
        ts_ns=pl.coalesce(epoch_ns, _iso_ns(line)).forward_fill()
    )
    lines = frame.select(
        ts_ns=pl.coalesce("ts_ns", pl.lit(clock, dtype=pl.Int64())),
        line=line.str.replace(EPOCH, "").str.replace(ISO, ""),
    )
    return lines.filter(pl.col("line").str.strip_chars() != ""), lines["ts_ns"][-1]


def _iso_ns(line: pl.Expr) -> pl.Expr:
    """ISO times; without a zone they count as UTC."""
    local = line.str.extract(ISO, 1).str.replace(" ", "T").str.replace(",", ".")
    zone = line.str.extract(ISO, 2).str.replace("Z", "+00:00")
    zone = zone.str.replace(r"^([+-]\d\d):?(\d\d)$", "$1:$2")
    text = local + zone.fill_null("+00:00")
    parsed = text.str.to_datetime("%+", time_unit="ns", time_zone="UTC", strict=False)
    return parsed.dt.timestamp("ns")


def _samples(lines: pl.DataFrame) -> pl.DataFrame:
    """One sample per socket and poll; lines before the first socket or time are left out."""
    begins = pl.col("line").str.contains(SOCKET)
    sockets = (
        lines.with_columns(number=begins.cum_sum())
        .filter((pl.col("number") > 0) & pl.col("ts_ns").is_not_null())
        .group_by("number", maintain_order=True)
        .agg(pl.col("ts_ns").first(), line=pl.col("line").str.strip_chars().str.join(" "))
    )
    address = r"^\[?(?:::ffff:)?([^%\]]*).*$"
    line = pl.col("line")
    frame = sockets.with_columns(
        saddr=line.str.extract(SOCKET, 2).str.replace(address, "$1"),
        sport=line.str.extract(SOCKET, 3),
        daddr=line.str.extract(SOCKET, 4).str.replace(address, "$1"),
        dport=line.str.extract(SOCKET, 5),
        info=line.str.replace(SOCKET + r"\s*(?:timer:\S+)?\s*", ""),
    )
    return shaped(frame.filter(pl.col("info").str.contains(r"\bcwnd:")).select(**_columns()))


def _columns() -> dict[str, pl.Expr]:
    def number(pattern: str) -> pl.Expr:
        return pl.col("info").str.extract(pattern, 1).cast(pl.Float64, strict=False)

    def counted(name: str) -> pl.Expr:
        # ss leaves out what is zero; what is there and no number is unknown.
        there = pl.col("info").str.contains(rf"\b{name}:")
        return pl.when(there).then(number(rf"\b{name}:(\d+)")).otherwise(0.0)

    four = pl.concat_str("saddr", pl.lit(":"), "sport", pl.lit(">"), "daddr", pl.lit(":"), "dport")
    delivered = number(r"\bdelivered:(\d+)")
    rate = pl.col("info").str.extract(r"\bpacing_rate ([\d.]+)[kMGT]?bps", 1)
    unit = pl.col("info").str.extract(r"\bpacing_rate [\d.]+([kMGT])bps", 1)
    percent = number(r"\bprague:\(alpha:([\d.e+-]+)%")
    return {
        "ts_ns": pl.col("ts_ns"),
        "event": pl.lit("poll"),
        "sk": pl.coalesce("0x" + pl.col("info").str.extract(r"\bsk:([0-9a-f]+)"), four),
        **{name: pl.col(name) for name in ("saddr", "sport", "daddr", "dport")},
        "cc": pl.col("info").str.extract(r"(?:^|\s)([a-z][\w-]*)\s+(?:wscale|rto):", 1),
        "snd_cwnd": number(r"\bcwnd:(\d+)"),
        "ssthresh": number(r"(?:^|\s)ssthresh:(\d+)"),
        "srtt_us": number(r"(?:^|\s)rtt:([\d.]+)/") * 1000,
        "mdev_us": number(r"(?:^|\s)rtt:[\d.]+/([\d.]+)") * 1000,
        "min_rtt_us": (number(r"\bminrtt:([\d.]+)") * 1000).round(),
        "delivered": delivered,
        "delivered_ce": pl.when(delivered.is_not_null()).then(counted("delivered_ce")),
        "packets_out": counted("unacked"),
        "alpha_raw": (percent / 100 * ALPHA_UNIT).round(),
        "round": number(r"\bprague:\([^)]*\bround:(\d+)"),
        "pacing_rate_bps": rate.cast(pl.Float64, strict=False)
        * unit.replace_strict(SCALE, default=1.0, return_dtype=pl.Float64),
        "extra": pl.struct(ss="info").struct.json_encode(),
    }
