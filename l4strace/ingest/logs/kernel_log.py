"""l4strace's own kernel log (collectors/FORMAT.md): reader, and by `-m` a strict validator.

The reader is lenient: a cut or damaged line is counted and left out. `check` is strict and names
the line of each fault.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import chain
from typing import Any

import polars as pl

from l4strace import threads
from l4strace.ingest import untrusted
from l4strace.ingest.logs.blocks import BAD_LINES, BLOCK_BYTES, blocks, ended
from l4strace.ingest.logs.blocks import frame as rows_of
from l4strace.ingest.logs.kernel_log_check import TYPES, check_line, finished
from l4strace.ingest.logs.samples import IDENTITY, SAMPLES, Log, shaped
from l4strace.ingest.logs.thin import Keeper
from l4strace.prague.constants import DCTCP, GAIN_SHIFT
from l4strace.schema.words import Stat, lost_in

WIDE: dict[type[pl.DataType], pl.DataType] = dict.fromkeys(
    (pl.UInt8, pl.UInt16, pl.UInt32), pl.Int64()
)
"""Integers are read with 64 bits; columns narrow them."""
CONTROL = {"where": pl.String(), "count": pl.Int64(), "name": pl.String(), "text": pl.String()}
"""Fields of the records that are no samples."""
MOST_BITS = 31
"""Widest alpha of any build (P0)."""
MOST_FIELDS = 256
"""Fields that a header may declare; the collectors declare 40."""
MOST_NOTES = 100
"""Notes of one log that are shown."""
MOST_AGGREGATES = 10_000


def read(path: str) -> Log:
    """Reads one log. Raises ValueError when its first line is no header of this format."""
    log, keeper = Log(path, "kernel-log", complete=False), Keeper()
    lines = untrusted.Lines(path, BLOCK_BYTES)
    found = iter(lines)
    first = next(found, None)
    if first is None:
        raise ValueError("an empty kernel log")
    line, _, rest = first.partition(b"\n")
    rows = partial(rows_of, schema=_schema(_header(line, log)["fields"]))
    for block, (frame, unread) in threads.ahead(rows, chain([rest], found)):
        log.lose(Stat.LINES_UNREAD, unread, "loss", BAD_LINES)
        keeper.add(_samples(frame))
        _control(frame, block, log)
    ended(lines, log)
    log.samples = keeper.finish()
    if not log.complete and not any(name == Stat.TRUNCATED_FILE for name, *_ in log.stats):
        log.lose(Stat.NO_TRAILER, 1, "loss", "The log was cut short: its trailer is missing.")
    log.lose(Stat.SAMPLES_THINNED, keeper.thinned, "info", keeper.WHY)
    return log


def _header(line: bytes, log: Log) -> dict[str, Any]:
    header = untrusted.record(line)
    if header is None or header.get("format") != "l4strace-kernel-log":
        raise ValueError("the first line is no header of a kernel log")
    if header.get("version") != 1:
        version = str(header.get("version"))[:20]
        raise ValueError(f"kernel log of version {version}; this l4strace reads 1")
    clock = untrusted.mapping(header.get("clock"))
    log.clock = untrusted.text(clock.get("id")) or "unknown"
    log.unix_offset_ns = untrusted.time_ns(clock.get("unix_offset_ns"))
    log.uncertainty_ns = untrusted.time_ns(clock.get("uncertainty_ns")) or 0
    _take_width(untrusted.mapping(header.get("layout")).get("alpha_bits"), log)
    command = header.get("command") or []
    log.comment = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    fields = untrusted.mapping(header.get("fields")).items()
    return header | {"fields": dict(list(fields)[:MOST_FIELDS])}


def _take_width(bits: object, log: Log) -> None:
    """A width that no kernel can have is not taken: 2^bits is computed with it."""
    log.alpha_bits = untrusted.whole(bits, 1, MOST_BITS)
    if bits is not None and log.alpha_bits is None:
        log.lose(
            Stat.ALPHA_SCALE_UNKNOWN, 1, "info", f"alpha_bits is {str(bits)[:20]}: not a width."
        )


def _schema(fields: dict[str, Any]) -> pl.Schema:
    """Columns of the declared fields and of those that are known."""
    kinds = {name: kind for name, kind in fields.items() if isinstance(kind, str)}
    declared = {name: TYPES[kind] for name, kind in kinds.items() if kind in TYPES}
    known = {name: dtype for name, dtype in SAMPLES.items() if name != "extra"}
    # A column keeps its type whatever the header claims.
    wide = {name: WIDE.get(type(dtype), dtype) for name, dtype in (declared | known).items()}
    return pl.Schema(wide | {"type": pl.String()} | CONTROL)


def _samples(frame: pl.DataFrame) -> pl.DataFrame:
    rows = frame.filter((pl.col("type") == "sample") & pl.col("ts_ns").is_not_null())
    named = {"type", *SAMPLES, *IDENTITY, *CONTROL}
    # Only what may go there is looked at: to do so makes room for a column without values.
    rest = [
        name for name in rows.columns if name not in named and rows[name].null_count() < rows.height
    ]
    extra = pl.struct(rest).struct.json_encode() if rest else pl.lit(None, dtype=pl.String())
    return shaped(
        rows.with_columns(
            extra=extra,
            alpha=pl.when(pl.col("cc") == DCTCP).then("alpha"),
            alpha_raw=pl.coalesce("alpha_raw", pl.col("upscaled_alpha") // (1 << GAIN_SHIFT)),
            srtt_pace_us=_unshifted("srtt_pace_us", "srtt_pace_raw", "g_srtt_shift"),
            mdev_pace_us=_unshifted("mdev_pace_us", "mdev_pace_raw", "g_mdev_shift"),
        )
    )


def _unshifted(plain: str, raw: str, shift: str) -> pl.Expr:
    return pl.coalesce(plain, pl.col(raw) / pl.lit(2.0).pow(pl.col(shift)))


def _control(frame: pl.DataFrame, block: bytes, log: Log) -> None:
    """Takes in losses, notes, aggregates and the trailer; there are few of them."""
    counted = dict(frame["type"].drop_nulls().value_counts().iter_rows())
    log.records += counted.get("sample", 0)
    kinds = set(counted) - {"sample", "header"}
    for note in frame["text"].filter(frame["type"] == "note").head(MOST_NOTES):
        if log.notes < MOST_NOTES:
            log.lose(Stat.NOTE, 1, "info", untrusted.text(note))
            log.notes += 1
    if "aggregate" in kinds or "trailer" in kinds:
        for line in block.splitlines():
            if b'"aggregate"' in line or b'"trailer"' in line:
                _take(untrusted.record(line) or {}, log)


def _take(record: dict[str, Any], log: Log) -> None:
    if record.get("type") == "aggregate" and len(log.aggregates) < MOST_AGGREGATES:
        log.aggregates[untrusted.text(str(record.get("name"))) or ""] = record.get("value")
    elif record.get("type") == "trailer":
        log.complete = True
        log.end_offset_ns = untrusted.time_ns(
            untrusted.mapping(record.get("clock")).get("unix_offset_ns")
        )
        for place, lost in _counts(record.get("lost"), log).items():
            where = untrusted.text(place, 40)
            log.lose(lost_in(where or "log"), lost, "loss", f"Samples lost in the {where}.")
        counted = sum(_counts(record.get("events"), log).values())
        if counted != log.records:
            missing = f"The trailer counts {counted:,} samples, the log holds {log.records:,}."
            log.lose(Stat.SAMPLES_MISSING, abs(counted - log.records), "loss", missing)


def _counts(value: object, log: Log) -> dict[str, int]:
    """Counters by name; what is none is counted as damage."""
    found = {name: untrusted.whole(n, 0, 2**53) for name, n in untrusted.mapping(value).items()}
    bad = sum(count is None for count in found.values())
    log.lose(Stat.LINES_UNREAD, bad, "loss", BAD_LINES)
    return {name: count for name, count in list(found.items())[:MOST_FIELDS] if count is not None}


def check(path: str) -> list[str]:
    """All faults of a log, each with its line number; empty when it keeps to the format."""
    state: dict[str, Any] = {}
    faults: list[str] = []
    number = 0
    for block in blocks(path, Log(path, "kernel-log")):
        for line in block.splitlines():
            number += 1
            faults += [f"line {number}: {fault}" for fault in check_line(number, line, state)]
    return faults + [f"line {number}: {fault}" for fault in finished(state)]


if __name__ == "__main__":
    FAULTS = [f"{path}: {fault}" for path in sys.argv[1:] for fault in check(path)]
    print("\n".join(FAULTS))
    raise SystemExit(1 if FAULTS else 0)
