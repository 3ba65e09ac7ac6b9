"""bpftrace -f json: printf lines of `key=value` fields, and maps printed at the end.

A printf line is a sample when it has a time (`ts_ns`, `nsecs`, `ts`, `time`, in ns of the monotonic
clock as bpftrace's nsecs gives it). Its fields are named and scaled as in struct tcp_sock and
struct prague; `event` or `probe` names the function. Maps have no time: they are aggregates.
"""

from __future__ import annotations

import re

import polars as pl

from l4strace.core import _native
from l4strace.ingest import untrusted
from l4strace.ingest.logs import kprobe_events
from l4strace.ingest.logs.blocks import BAD_LINES, blocks
from l4strace.ingest.logs.blocks import frame as rows_of
from l4strace.ingest.logs.samples import MOST_AGGREGATES, SAMPLES, Log, by_value, shaped
from l4strace.ingest.logs.thin import Keeper
from l4strace.schema.words import Stat

LINE = pl.Schema({"type": pl.String(), "data": pl.String()})
TIMES = ("ts_ns", "nsecs", "ts", "time", "elapsed")
ANY_TIME = f"({'|'.join(TIMES)})="
BEGINS_WITH_TIME = rf"\A{ANY_TIME}"
FIRST_TIME = rf"\A(?:[^\n]*?[^\S\n])??{ANY_TIME}"
"""Pattern of the time in the first line of a record."""
LAST_TIME = rf"(?:\A|\s){ANY_TIME}[^\n]*\z"
"""Pattern of the time in the last record, which may be incomplete."""
EVENTS = ("event", "probe", "func")
MAPS = ("map", "hist", "stats")
MAP_LINE = re.compile(rb'^.*"(?:map|hist|stats)".*$', re.MULTILINE)
PRINTED_OTHERWISE = "printf lines without fields, or of more than 1 MB."
MOST_LOST = 2**63 - 1
"""Most losses that are summed, so that numbers from a file stay within 64 bits."""


def read(path: str) -> Log:
    """Reads one file."""
    log, keeper, lines = Log(path, "bpftrace", clock="monotonic"), Keeper(), None
    last, lost = pl.Series(dtype=pl.String), 0
    for block in blocks(path, log):
        frame, unread = rows_of(block, LINE)
        log.lose(Stat.LINES_UNREAD, unread, "loss", BAD_LINES)
        _aggregates(block, frame.filter(pl.col("type").is_in(MAPS)).height, log)
        lost += sum(map(_lost, frame.filter(pl.col("type") == "lost_events")["data"]))
        printed = frame.filter(pl.col("type") == "printf")["data"].drop_nulls()
        printed = printed.filter(printed != "")
        if printed.len():
            lines = lines or _native.LogLines("fields")
            ended = _ended(pl.concat([last, printed]))
            # How a record ends depends on the next one, which may be in the next block.
            ended, last = ended.head(-1), printed.tail(1)
            _keep(keeper, lines.feed("".join(ended.to_list()).encode()))
    if lines is not None:
        _keep(keeper, lines.feed("".join(last.to_list()).encode()))
        _keep(keeper, lines.finish())
        counts = lines.counts()
        log.lose(Stat.LINES_UNREAD, counts["unread"], "info", PRINTED_OTHERWISE)
    log.lose(Stat.EVENTS_LOST, min(lost, MOST_LOST), "loss", "bpftrace lost events.")
    log.samples = keeper.finish()
    log.records = log.samples.height + keeper.thinned + len(log.aggregates)
    log.lose(Stat.SAMPLES_THINNED, keeper.thinned, "info", keeper.WHY)
    return log


def _ended(printed: pl.Series) -> pl.Series:
    """``printed`` with a line end after each record that lacks one and is a line of its own.

    bpftrace writes a record for each call of printf, of which several may print one line. They do
    not where it could not be read: with the same time twice, or with one right behind other text.
    """
    whole = printed.str.ends_with("\n")
    if whole.all():
        return printed
    after = printed.shift(-1)
    twice = printed.str.extract(LAST_TIME) == after.str.extract(FIRST_TIME)
    glued = ~printed.str.contains(r"(?:\A|\s)\z") & after.str.contains(BEGINS_WITH_TIME)
    own = ~whole & (twice.fill_null(False) | glued.fill_null(False))
    return printed + own.replace_strict({True: "\n", False: ""}, return_dtype=pl.String)


def _lost(data: str | None) -> int:
    """How many events a notice reports as lost; 1 for a notice without a valid number."""
    stated = untrusted.mapping(untrusted.record((data or "").encode())).get("events")
    number = untrusted.whole(stated, 0)
    return 1 if number is None else number


def _aggregates(block: _native.Block, printed: int, log: Log) -> None:
    """Takes in the ``printed`` maps of a block, of which there are few.

    From its own lines: polars writes an object into a column of texts with its keys unescaped. A
    map printed again (interval output) replaces its earlier value.
    """
    if not printed:
        return
    for line in MAP_LINE.finditer(bytes(block)):
        record = untrusted.record(line[0], strict=True) or {}
        if (kind := record.get("type")) not in MAPS or not isinstance(record.get("data"), dict):
            continue
        printed -= 1
        suffix = "" if kind == "map" else f" ({kind})"
        for name, counted in record["data"].items():
            if len(log.aggregates) < MOST_AGGREGATES:
                log.aggregates[f"{untrusted.text(name)}{suffix}"] = counted
    log.lose(Stat.LINES_UNREAD, max(0, printed), "loss", BAD_LINES)


def _keep(keeper: Keeper, table: _native.ArrowTable | None) -> None:
    if table is not None:
        keeper.add(samples(pl.DataFrame(table)))


def samples(frame: pl.DataFrame) -> pl.DataFrame:
    """Fields of printed lines -> SAMPLES; none of those without a time."""
    times = [name for name in TIMES if name in frame.columns]
    if not times:
        return pl.DataFrame(schema=SAMPLES)
    names = [name for name in EVENTS if name in frame.columns]
    event = pl.coalesce(*names, pl.lit("probe")) if names else pl.lit("probe")
    frame = frame.with_columns(
        ts_ns=pl.coalesce(pl.col(times).cast(pl.Int64, strict=False)), event=event
    ).filter(pl.col("ts_ns").is_not_null())
    frame = frame.drop(name for name in (*times, *names) if name not in ("ts_ns", "event"))
    named = frame.with_columns(event=by_value(frame["event"], kprobe_events.event_name))
    return shaped(kprobe_events.samples(named))
