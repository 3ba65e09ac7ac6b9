"""Logs of UDP Prague: one line a packet (`-v`), and a JSON object a report (`-j`).

Times of lines are 32-bit microseconds from the start of the program, which wrap; those of JSON are
Unix time. Neither has alpha. A receiver counts what arrives: its rows belong to the direction of
the data, whose sender is at the other end.
"""

from __future__ import annotations

import re

import polars as pl

from l4strace.ingest.logs.blocks import BAD_LINES, blocks
from l4strace.ingest.logs.blocks import frame as rows_of
from l4strace.ingest.logs.samples import ANY, MOST_DATAGRAMS, Log, shaped
from l4strace.ingest.logs.thin import Keeper
from l4strace.schema.words import Stat

FIRST_LINE = re.compile(
    r"UDP (?:RealTime )?Prague (sender|receiver) (connecting to|listening at) (\S{1,64}) "
    r"on port (\d{1,5}) with max packet size \d+ bytes\."
)
BEGINS = re.compile(
    rb"^UDP (?:RealTime )?Prague (?:sender|receiver) (?:connecting to|listening at) "
    rb"|^(?:NORMAL|RFC8888)_ACK_r: -?\d+, ",
    re.M,
)
JSON_BEGINS = re.compile(
    rb'\A\s*\{"name":"[^"\n]*","time":"\d+","time_since_start":"-?\d+","(?:sent|rcvd)_rate":'
)
SOCKET = "UDP Prague"
WRAP_US = 1 << 32
WHOLE_NUMBER = r"(-?\d{1,20})"
SENT = "^s: " + ", ".join([WHOLE_NUMBER] * 6) + ",,,,, " + ", ".join([WHOLE_NUMBER] * 4)
"""time, timestamp, echo, difference, number, size; pacing rate, window, burst, in flight."""
FED_BACK = r"^(NORMAL|RFC8888)_ACK_r: " + ", ".join([WHOLE_NUMBER] * 10) + ",,,,, " + WHOLE_NUMBER
"""time, timestamp, echo, difference, number, size, received, CE, lost, error; in flight."""
ARRIVED = "^r: " + ", ".join([WHOLE_NUMBER] * 6) + r"\s*$"
"""time, timestamp, echo, difference, number, size: a line of a receiver."""
COUNTED = "^s: " + ", ".join([WHOLE_NUMBER] * 10) + r"\s*$"
"""time, timestamp, echo, difference, number, size, received, CE, lost, error, of a receiver."""
HEADS = r"^(?:UDP |s: time|r: time|(?:NORMAL|RFC8888)_ACK_r: time|\[|\s*$)"
"""Lines that state no packet."""
ERROR = "error_L4S"
REPORT = pl.Schema(
    dict.fromkeys(
        (
            *("name", "time", "rtt", "pacing_rate", "pkt_inflight", "pkt_window"),
            *("pkt_rcvd", "pkt_mark", "pkt_lost"),
        ),
        pl.String(),
    )
)
"""Fields of a report; each value stands between quotes."""


def read(path: str) -> Log:
    """Reads what `-v` printed. Raises ValueError when no line is a packet."""
    log, keeper, clock = Log(path, "udp-prague", transport="udp-prague"), Keeper(), _Clock()
    arrivals, arrived = Keeper(), 0
    datagrams: list[pl.DataFrame] = []
    ends: dict[str, object] = {}
    unread = kept = 0
    for block in blocks(path, log):
        lines = pl.Series(bytes(block).decode("utf-8", "replace").split("\n"))
        found = FIRST_LINE.search(lines[0])
        ends = ends or (_ends(found) if found else {})
        packets = _packets(lines)
        unread += lines.len() - packets.height - int(lines.str.contains(HEADS).sum())
        timed = clock.unwrapped(packets)
        keeper.add(_samples(timed))
        seen = _arrivals(timed, arrived)
        arrived += seen.height
        arrivals.add(seen)
        if kept < MOST_DATAGRAMS:
            datagrams.append(_datagrams(timed).head(MOST_DATAGRAMS - kept))
            kept += datagrams[-1].height
    # With block acks a receiver does not print what it counts.
    log.samples, counted = keeper.finish(), arrivals.finish()
    if log.samples.is_empty():
        log.samples = counted
    log.samples = log.samples.with_columns(
        pl.lit(ends.get(name)).cast(dtype).alias(name)
        for name, dtype in (
            *(("saddr", pl.String()), ("sport", pl.UInt16())),
            *(("daddr", pl.String()), ("dport", pl.UInt16())),
        )
    )
    if log.samples.is_empty():
        raise ValueError("a log of UDP Prague without a packet: record it with -v or -j")
    log.datagrams = pl.concat(datagrams) if datagrams else log.datagrams
    log.records = log.samples.height + keeper.thinned
    log.lose(Stat.LINES_UNREAD, unread, "info", "Lines that are no packets.")
    log.lose(Stat.SAMPLES_THINNED, keeper.thinned, "info", keeper.WHY)
    return log


def _ends(found: re.Match[str]) -> dict[str, object]:
    """The end of the connection that the first line names, as the sender of the data sees it."""
    role, way, host, port = found.groups()
    here = way == "listening at"
    sends = role == "sender"
    # A receiver's rows belong to the sender at its other end.
    own = here == sends
    known = None if host in ANY else host
    number = int(port) if 0 < int(port) < 1 << 16 else None
    return {"saddr" if own else "daddr": known, "sport" if own else "dport": number}


def _packets(lines: pl.Series) -> pl.DataFrame:
    """One row per line of a packet: `kind`, `line` and its numbers."""
    kinds = (("sent", SENT), ("fed_back", FED_BACK), ("arrived", ARRIVED), ("counted", COUNTED))
    frame = lines.alias("line").to_frame()
    kind = pl.coalesce(
        pl.when(pl.col("line").str.contains(pattern)).then(pl.lit(name)) for name, pattern in kinds
    )
    numbers = pl.col("line").str.extract_all(r"-?\d+")
    known = frame.with_columns(kind=kind).drop_nulls("kind")
    rfc8888 = pl.col("line").str.starts_with("RFC")
    return known.select(
        "kind",
        block=rfc8888,
        # The 8888 of the name is none of them.
        n=pl.when(rfc8888).then(numbers.list.slice(1)).otherwise(numbers),
    )


class _Clock:
    """Times of 32 bits that wrap, as times that do not."""

    def __init__(self) -> None:
        self.last: int | None = None
        self.now = 0

    def unwrapped(self, packets: pl.DataFrame) -> pl.DataFrame:
        """``packets`` with `ts_ns`."""
        times = packets.with_columns(us=_number(0)).drop_nulls("us")
        if times.is_empty():
            return times.with_columns(ts_ns=pl.lit(0, pl.Int64))
        first = int(times["us"][0])
        before = first if self.last is None else self.last
        begin = first if self.last is None else self.now
        step = pl.col("us") - pl.col("us").shift(fill_value=before)
        near = (step + WRAP_US // 2) % WRAP_US - WRAP_US // 2
        whole = times.with_columns(at=begin + near.cum_sum())
        self.last, self.now = int(whole["us"][-1]), int(whole["at"][-1])
        return whole.with_columns(ts_ns=pl.col("at") * 1000)


def _number(place: int) -> pl.Expr:
    return pl.col("n").list.get(place, null_on_oob=True).cast(pl.Int64, strict=False)


def _of(kind: str, place: int) -> pl.Expr:
    return pl.when(pl.col("kind") == kind).then(_number(place))


def _samples(timed: pl.DataFrame) -> pl.DataFrame:
    """What changes with each line; counters of block acks stand where those of acks do."""
    fed_back = pl.col("kind").is_in(["fed_back", "counted"])
    acked = (pl.col("kind") == "fed_back") & ~pl.col("block")
    echoed = (_number(0) - _number(2)) % WRAP_US
    failed = fed_back & (_number(9) != 0)
    return shaped(
        timed.filter(pl.col("kind") != "arrived").with_columns(
            sk=pl.lit(SOCKET),
            event=pl.when(pl.col("kind") == "sent").then(pl.lit("poll")).otherwise(pl.lit("ack")),
            cc=pl.lit("prague"),
            snd_cwnd=_of("sent", 7),
            pacing_rate_bps=_of("sent", 6) * 8.0,
            packets_out=pl.coalesce(_of("sent", 9), _of("fed_back", 10)),
            rs_rtt_us=pl.when(acked).then(echoed),
            delivered=pl.when(fed_back).then(_number(6)),
            delivered_ce=pl.when(fed_back).then(_number(7)),
            lost_packets=pl.when(fed_back).then(_number(8)),
            ecn_state=pl.when(failed).then(pl.lit("failed")),
            ecn_trigger=pl.when(failed).then(pl.lit(ERROR)),
        )
    )


def _arrivals(timed: pl.DataFrame, before: int) -> pl.DataFrame:
    """Packets that a receiver saw, counted."""
    seen = timed.filter(pl.col("kind") == "arrived")
    return shaped(
        seen.with_columns(
            sk=pl.lit(SOCKET), event=pl.lit("ack"), delivered=before + pl.int_range(1, pl.len() + 1)
        )
    )


def _datagrams(timed: pl.DataFrame) -> pl.DataFrame:
    """A block ack has no size in the log."""
    data = pl.col("kind").is_in(["sent", "arrived"])
    return timed.select(
        sk=pl.lit(SOCKET),
        ts_ns="ts_ns",
        along=data,
        bytes=pl.when(~pl.col("block")).then(_number(5)).cast(pl.UInt32, strict=False),
    )


def read_json(path: str) -> Log:
    """Reads what `-j` wrote: sums of what each report counts, and what it averages."""
    log, keeper = Log(path, "udp-prague", transport="udp-prague"), Keeper()
    log.clock, log.unix_offset_ns = "realtime", 0
    sums = dict.fromkeys(("pkt_rcvd", "pkt_mark", "pkt_lost"), 0)
    for block in blocks(path, log):
        reports, unread = rows_of(block, REPORT)
        log.lose(Stat.LINES_UNREAD, unread, "loss", BAD_LINES)
        numbers = reports.with_columns(
            pl.col(name).cast(pl.Float64, strict=False) for name in REPORT if name != "name"
        ).with_columns(_summed(name) + so_far for name, so_far in sums.items())
        if numbers.height:
            sums = {name: numbers[name][-1] for name in sums}
        keeper.add(_reported(numbers))
    log.samples = keeper.finish()
    if log.samples.is_empty():
        raise ValueError("reports of UDP Prague without a time")
    log.records = log.samples.height + keeper.thinned
    log.lose(Stat.SAMPLES_THINNED, keeper.thinned, "info", keeper.WHY)
    return log


def _summed(name: str) -> pl.Expr:
    """The sum of counts within bounds; packets that were thought lost may arrive."""
    return pl.col(name).fill_nan(0).clip(-1e9, 1e9).fill_null(0).cast(pl.Int64).cum_sum()


def _reported(numbers: pl.DataFrame) -> pl.DataFrame:
    us = pl.col("time").cast(pl.Int64, strict=False)
    timed = numbers.filter(us.is_between(0, (1 << 61) // 1000))
    return shaped(
        timed.with_columns(
            ts_ns=us * 1000,
            sk=pl.lit(SOCKET),
            event=pl.lit("poll"),
            cc=pl.lit("prague"),
            snd_cwnd=pl.col("pkt_window"),
            packets_out=pl.col("pkt_inflight"),
            srtt_us=pl.when(pl.col("rtt") > 0).then(pl.col("rtt") * 1000),
            pacing_rate_bps=pl.col("pacing_rate") * 1e6,
            delivered=pl.col("pkt_rcvd"),
            delivered_ce=pl.col("pkt_mark"),
            lost_packets=pl.col("pkt_lost"),
        )
    )
