"""Logs of `tc -s qdisc` taken again and again, with times (`poll_times`) before or after each poll.

Text or JSON (`tc -s -j qdisc`, pretty-printed too). Only DualPI2 states its probability and the
delays of its queues. Counters of marks have a name of their own in each qdisc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from l4strace.ingest import untrusted
from l4strace.ingest.logs import poll_times
from l4strace.ingest.logs.samples import Log
from l4strace.schema.logs import QDISCS
from l4strace.schema.words import Stat

BEGINS = re.compile(r"\s*(?:qdisc [a-z]\w* [0-9a-f]+: |\[|\{\s*\"kind\")", re.MULTILINE)
"""A line that a poll may begin with."""
TEXT_QDISC = re.compile(r"qdisc ([a-z]\w*) ([0-9a-f]+:)(?: dev (\S+))?")
NO_TIMES = (
    "tc -s qdisc without a time; record it with: "
    "while sleep 0.1; do date +%s.%N; tc -s -j qdisc show dev eth0; done > run.tc.txt"
)
SIZE = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
"""Units of tc's sprint_size."""
TEXT_FIELDS: dict[str, re.Pattern[str]] = {
    "sent_bytes": re.compile(r"\bSent (\d+) bytes"),
    "sent_packets": re.compile(r"\bSent \d+ bytes (\d+) pkt"),
    "drops": re.compile(r"\(dropped (\d+),"),
    "backlog_packets": re.compile(r"\bbacklog \S+ (\d+)p\b"),
    "marks": re.compile(r"\b(?:ecn_mark|ce_mark|marked) (\d+)"),
    "step_marks": re.compile(r"\bstep_marks? (\d+)"),
    "probability": re.compile(r"\bprob ([\d.]+(?:e-?\d+)?)"),
    "delay_c_us": re.compile(r"\bdelay_c (\d+)us"),
    "delay_l_us": re.compile(r"\bdelay_l (\d+)us"),
}
BACKLOG = re.compile(r"\bbacklog ([\d.]+)([KMG]?)b\b")
JSON_FIELDS: dict[str, tuple[str, ...]] = {
    "sent_bytes": ("bytes",),
    "sent_packets": ("packets",),
    "drops": ("drops",),
    "backlog_bytes": ("backlog",),
    "backlog_packets": ("qlen",),
    "marks": ("ecn_mark", "ecn-mark", "ce_mark", "marked"),
    "step_marks": ("step_mark", "step-mark", "step_marks"),
    "probability": ("prob",),
    "delay_c_us": ("delay_c", "delay-c"),
    "delay_l_us": ("delay_l", "delay-l"),
}
"""Column -> its names in JSON: mainline's DualPI2 has hyphens."""
MOST_ROWS = 1 << 20
"""Rows that are kept: 29 hours of a qdisc polled ten times a second."""
Row = dict[str, Any]


def read(path: str) -> Log:
    """Reads one file. Raises ValueError when it has qdiscs and no time."""
    log = Log(path, "tc", clock="realtime", unix_offset_ns=0)
    clock: poll_times.Clock | None = None
    rows: list[Row] = []
    untimed = left_out = 0
    for follow, block in poll_times.whole_polls(path, log, BEGINS, _complete):
        clock = clock or poll_times.Clock(after=follow)
        for row in _rows(clock.timed(block), log):
            untimed += row["ts_ns"] is None
            left_out += len(rows) >= MOST_ROWS
            if row["ts_ns"] is not None and len(rows) < MOST_ROWS:
                rows.append(row)
    if untimed and not rows:
        raise ValueError(NO_TIMES)
    log.qdiscs = _measured(rows)
    log.records = log.qdiscs.height
    if clock is not None and not clock.dated:
        log.clock, log.unix_offset_ns = "unknown", None
    log.lose(Stat.LINES_UNREAD, untimed, "info", "Qdiscs without a time.")
    log.lose(Stat.SAMPLES_THINNED, left_out, "info", f"Qdiscs after the first {MOST_ROWS:,}.")
    return log


def _complete(held: str) -> int:
    """Length up to the last time; of text without times all whole lines."""
    begin = held.rfind("\n") + 1
    while begin:
        end, begin = begin - 1, held.rfind("\n", 0, begin - 1) + 1
        if begin and poll_times.TIME_LINE.match(held[begin:end]):
            return begin
    return held.rfind("\n") + 1 or len(held)


def _rows(lines: pl.DataFrame, log: Log) -> Iterator[Row]:
    """One row for each qdisc of each poll."""
    polls = lines.group_by("ts_ns", maintain_order=True).agg(pl.col("line"))
    for ts_ns, poll in polls.iter_rows():
        text = "\n".join(poll)
        found = _of_json(text, log) if text.lstrip()[:1] in "[{" else _of_text(text)
        for row in found:
            yield {"ts_ns": ts_ns, **row}


def _of_text(text: str) -> Iterator[Row]:
    begins = list(TEXT_QDISC.finditer(text))
    ends = [begin.start() for begin in begins[1:]] + [len(text)]
    for begin, end in zip(begins, ends, strict=True):
        about = text[begin.end() : end]
        row: Row = {"kind": begin[1], "handle": begin[2], "interface": begin[3]}
        for name, pattern in TEXT_FIELDS.items():
            if (value := pattern.search(about)) is not None:
                row[name] = float(value[1])
        if (size := BACKLOG.search(about)) is not None:
            row["backlog_bytes"] = float(size[1]) * SIZE[size[2]]
        yield row


def _of_json(text: str, log: Log) -> Iterator[Row]:
    # A loop over interfaces prints several arrays.
    try:
        found = untrusted.parsed("[" + re.sub(r"\](\s*)\[", r"],\1[", text) + "]")
    except ValueError:
        log.lose(Stat.LINES_UNREAD, 1, "loss", "Polls that are no JSON of tc.")
        return
    for qdiscs in found:
        for qdisc in qdiscs if isinstance(qdiscs, list) else [qdiscs]:
            if isinstance(qdisc, dict) and isinstance(qdisc.get("kind"), str):
                yield _of_object(qdisc)


def _of_object(qdisc: dict[str, Any]) -> Row:
    row: Row = {
        name: qdisc[key] if isinstance(qdisc.get(key), str) else None
        for name, key in (("kind", "kind"), ("handle", "handle"), ("interface", "dev"))
    }
    for name, keys in JSON_FIELDS.items():
        row[name] = next((untrusted.number(qdisc[key]) for key in keys if key in qdisc), None)
    return row


def _measured(rows: list[Row]) -> pl.DataFrame:
    """``rows`` in order of time, with the rate that each qdisc sent at and its delay from that."""
    numbers = (*JSON_FIELDS,)
    schema = {"ts_ns": pl.Int64(), "kind": pl.String(), "handle": pl.String()}
    schema |= {"interface": pl.String(), **dict.fromkeys(numbers, pl.Float64())}
    frame = pl.DataFrame(rows, schema=schema).sort("ts_ns", maintain_order=True)
    of = ("interface", "kind", "handle")
    passed = pl.col("ts_ns").diff().over(of)
    # A qdisc that was replaced counts from 0 again.
    sent = pl.col("sent_bytes").diff().over(of)
    rate = pl.when(sent >= 0, passed > 0).then(8e9 * sent / passed)
    frame = frame.with_columns(rate_bps=rate)
    drained = 8e6 * pl.col("backlog_bytes") / pl.col("rate_bps")
    busy = pl.when(pl.col("rate_bps") > 0).then(drained)
    delay = pl.when(pl.col("backlog_bytes") == 0).then(0.0).otherwise(busy)
    return QDISCS.conform(
        frame.with_columns(
            pl.col(name).cast(QDISCS.schema[name], strict=False) for name in numbers
        ).with_columns(delay_us=delay, source=pl.lit(0))
    )
