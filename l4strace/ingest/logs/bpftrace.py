"""bpftrace -f json: printf lines of `key=value` fields, and maps printed at the end.

A printf line is a sample when it has a time (`ts_ns`, `nsecs`, `ts`, `time`, in ns of the monotonic
clock as bpftrace's nsecs gives it). Its fields are named and scaled as in struct tcp_sock and
struct prague; `event` or `probe` names the function. Maps have no time: they are aggregates.
"""

from __future__ import annotations

import polars as pl

from l4strace import _native
from l4strace.ingest import untrusted
from l4strace.ingest.logs import kprobe_events
from l4strace.ingest.logs.blocks import BAD_LINES, blocks
from l4strace.ingest.logs.blocks import frame as rows_of
from l4strace.ingest.logs.samples import Log, shaped
from l4strace.ingest.logs.thin import Keeper
from l4strace.schema.words import Stat

LINE = pl.Schema({"type": pl.String(), "data": pl.String()})
TIMES = ("ts_ns", "nsecs", "ts", "time", "elapsed")
EVENTS = ("event", "probe", "func")
MOST_AGGREGATES = 10_000


def read(path: str) -> Log:
    """Reads one file."""
    log, keeper, lines = Log(path, "bpftrace", clock="monotonic"), Keeper(), None
    for block in filter(bytes.strip, blocks(path, log)):
        frame = rows_of(block, LINE, log)
        for kind, data in frame.filter(pl.col("type").is_in(["map", "hist", "stats"])).iter_rows():
            _aggregate(kind, data, log)
        lost = frame.filter(pl.col("type") == "lost_events").height
        log.lose(Stat.EVENTS_LOST, lost, "loss", "bpftrace lost events.")
        printed = frame.filter(pl.col("type") == "printf")["data"].drop_nulls()
        if printed.len():
            lines = lines or _native.LogLines("fields")
            table = lines.feed("".join(printed.to_list()).encode())
            _keep(keeper, table)
    if lines is not None:
        _keep(keeper, lines.finish())
        counts = lines.counts()
        log.lose(Stat.LINES_UNREAD, counts["unread"], "info", "printf lines without fields.")
    log.samples = keeper.finish()
    log.records = log.samples.height + keeper.thinned + len(log.aggregates)
    log.lose(Stat.SAMPLES_THINNED, keeper.thinned, "info", keeper.WHY)
    return log


def _aggregate(kind: str, data: str | None, log: Log) -> None:
    """A map printed again (interval output) replaces its earlier value."""
    value = untrusted.record((data or "{}").encode())
    if value is None:
        log.lose(Stat.LINES_UNREAD, 1, "loss", BAD_LINES)
        return
    suffix = "" if kind == "map" else f" ({kind})"
    for name, counted in value.items():
        if len(log.aggregates) < MOST_AGGREGATES:
            log.aggregates[f"{untrusted.text(name)}{suffix}"] = counted


def _keep(keeper: Keeper, table: _native.ArrowTable | None) -> None:
    if table is None:
        return
    frame = pl.DataFrame(table)
    times = [name for name in TIMES if name in frame.columns]
    if not times:
        return
    names = [name for name in EVENTS if name in frame.columns]
    event = pl.coalesce(*names, pl.lit("probe")) if names else pl.lit("probe")
    frame = frame.with_columns(
        ts_ns=pl.coalesce(pl.col(times).cast(pl.Int64, strict=False)), event=event
    ).filter(pl.col("ts_ns").is_not_null())
    frame = frame.drop(name for name in (*times, *names) if name not in ("ts_ns", "event"))
    named = frame.with_columns(event=kprobe_events.event_name())
    keeper.add(shaped(kprobe_events.samples(named)))
