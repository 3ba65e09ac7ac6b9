"""Logs of `ss -tin` taken again and again, with times (`poll_times`) before or after each poll.

Sockets may take two lines or, with -O, one. The `ss` of L4STeam's iproute2 adds
`prague:(alpha:4.7%,...)`. It always divides alpha by 2^20: on a 24-bit kernel the percentage is 16
times too large. classic_ecn is in no version of it. DCTCP's alpha is in units of 1/1024.
"""

from __future__ import annotations

import re

import polars as pl

from l4strace.ingest.logs import poll_times
from l4strace.ingest.logs.samples import Log, shaped
from l4strace.ingest.logs.thin import Keeper
from l4strace.schema.words import PRAGUE_AS_RENO, Stat

LAST_CHARS = 1 << 12
"""Characters at the end of the text that are searched first for its last socket: a few sockets."""
SOCKET = r"^(?:tcp\s+)?([A-Z][A-Z0-9-]{2,})\s+\d+\s+\d+\s+(\S+):(\d+)\s+(\S+):(\d+)"
BEGIN = re.compile(
    r"^(?:(?:#\s*)?(?:t=)?\d{9,10}(?:\.\d+)?\s+)?"
    r"(?:tcp\s+)?[A-Z][A-Z0-9-]{2,}\s+\d+\s+\d+\s+\S+:\d+",
    re.MULTILINE,
)
"""The line that begins a socket, after the time that moreutils' `ts` puts before it."""
POLL = re.compile(rf"{BEGIN.pattern}|\s*(?:Netid\s+)?State\s+Recv-Q")
"""A line that a poll may begin with: a socket, or the head of the columns."""
NO_TIMES = (
    "ss without a time; record it with: "
    "while sleep 0.1; do date +%s.%N; ss -tinO; done > run.ss.txt"
)
ALPHA_UNIT = 1 << 20
"""Divisor of alpha in L4STeam's ss, whatever the kernel's scale."""
DCTCP_ALPHA_UNIT = 1 << 10
"""DCTCP_MAX_ALPHA."""
AS_RENO = r"\bprague:reno-fallback-mode\b"
"""What L4STeam's ss prints of Prague without AccECN."""
SCALE = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def read(path: str) -> Log:
    """Reads one file. Raises ValueError when it has sockets and no time."""
    log, keeper = Log(path, "ss", clock="realtime", unix_offset_ns=0), Keeper()
    clock: poll_times.Clock | None = None
    untimed = 0
    for follow, block in poll_times.whole_polls(path, log, POLL, _complete):
        clock = clock or poll_times.Clock(after=follow)
        sockets = _sockets(clock.timed(block))
        untimed += sockets["ts_ns"].null_count()
        keeper.add(_samples(sockets.drop_nulls("ts_ns")))
    log.samples = keeper.finish()
    log.records = log.samples.height + keeper.thinned
    if untimed and not log.records:
        raise ValueError(NO_TIMES)
    if clock is not None and not clock.dated:
        log.clock, log.unix_offset_ns = "unknown", None
    log.lose(Stat.LINES_UNREAD, untimed, "info", "Sockets without a time.")
    log.lose(Stat.SAMPLES_THINNED, keeper.thinned, "info", keeper.WHY)
    return log


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


def _sockets(lines: pl.DataFrame) -> pl.DataFrame:
    """One row per socket and poll; lines before the first socket are left out."""
    begins = pl.col("line").str.contains(SOCKET)
    return (
        lines.with_columns(number=begins.cum_sum())
        .filter(pl.col("number") > 0)
        .group_by("number", maintain_order=True)
        .agg(pl.col("ts_ns").first(), line=pl.col("line").str.strip_chars().str.join(" "))
    )


def _samples(sockets: pl.DataFrame) -> pl.DataFrame:
    """The sockets that have TCP's numbers."""
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
        "cc": pl.when(pl.col("info").str.contains(AS_RENO))
        .then(pl.lit(PRAGUE_AS_RENO))
        .otherwise(pl.col("info").str.extract(r"(?:^|\s)([a-z][\w-]*)\s+(?:wscale|rto):", 1)),
        "snd_cwnd": number(r"\bcwnd:(\d+)"),
        "ssthresh": number(r"(?:^|\s)ssthresh:(\d+)"),
        "srtt_us": number(r"(?:^|\s)rtt:([\d.]+)/") * 1000,
        "mdev_us": number(r"(?:^|\s)rtt:[\d.]+/([\d.]+)") * 1000,
        "min_rtt_us": (number(r"\bminrtt:([\d.]+)") * 1000).round(),
        "delivered": delivered,
        "delivered_ce": pl.when(delivered.is_not_null()).then(counted("delivered_ce")),
        "packets_out": counted("unacked"),
        "alpha_raw": (percent / 100 * ALPHA_UNIT).round(),
        "alpha": number(r"\bdctcp:\([^)]*\balpha:(\d+)") / DCTCP_ALPHA_UNIT,
        "round": number(r"\bprague:\([^)]*\bround:(\d+)"),
        "pacing_rate_bps": rate.cast(pl.Float64, strict=False)
        * unit.replace_strict(SCALE, default=1.0, return_dtype=pl.Float64),
        "extra": pl.struct(ss="info").struct.json_encode(),
    }
