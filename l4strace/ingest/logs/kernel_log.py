"""l4strace's own kernel log (collectors/FORMAT.md): reader, and by `-m` a strict validator.

The reader is lenient: a cut or damaged line is counted and left out. `check` is strict and names
the line of each fault.
"""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import polars as pl

from l4strace.ingest.logs.blocks import blocks
from l4strace.ingest.logs.kernel_log_check import TYPES, check_line, finished
from l4strace.ingest.logs.samples import IDENTITY, SAMPLES, Log, shaped
from l4strace.ingest.logs.thin import Keeper
from l4strace.prague.constants import DCTCP, GAIN_SHIFT
from l4strace.schema.words import Stat, lost_in

WIDE: dict[type[pl.DataType], pl.DataType] = dict.fromkeys(
    (pl.UInt8, pl.UInt16, pl.UInt32), pl.Int64()
)
"""polars reads NDJSON integers with 64 bits only."""
CONTROL = {"where": pl.String(), "count": pl.Int64(), "name": pl.String(), "text": pl.String()}
"""Fields of the records that are no samples."""


def read(path: str) -> Log:
    """Reads one log. Raises ValueError when its first line is no header of this format."""
    log, keeper = Log(path, "kernel-log", complete=False), Keeper()
    header: dict[str, Any] | None = None
    for block in blocks(path, log):
        if header is None:
            first, _, block = block.partition(b"\n")
            header = _header(first, log)
        frame = _frame(block, header["fields"], log)
        keeper.add(_samples(frame))
        _control(frame, block, log)
    if header is None:
        raise ValueError("an empty kernel log")
    log.samples = keeper.finish()
    if not log.complete and not any(name == Stat.TRUNCATED_FILE for name, *_ in log.stats):
        log.lose(Stat.NO_TRAILER, 1, "loss", "The log was cut short: its trailer is missing.")
    log.lose(Stat.SAMPLES_THINNED, keeper.thinned, "info", keeper.WHY)
    return log


def _header(line: bytes, log: Log) -> dict[str, Any]:
    header = json.loads(line)
    if not isinstance(header, dict) or header.get("format") != "l4strace-kernel-log":
        raise ValueError("the first line is no header of a kernel log")
    if header.get("version") != 1:
        raise ValueError(f"kernel log of version {header.get('version')}; this l4strace reads 1")
    clock = header.get("clock") or {}
    log.clock = str(clock.get("id", "unknown"))
    log.unix_offset_ns = _integer(clock.get("unix_offset_ns"))
    log.uncertainty_ns = _integer(clock.get("uncertainty_ns")) or 0
    log.alpha_bits = _integer((header.get("layout") or {}).get("alpha_bits"))
    command = header.get("command") or []
    log.comment = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    fields = header.get("fields")
    return header | {"fields": fields if isinstance(fields, dict) else {}}


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _frame(block: bytes, fields: dict[str, str], log: Log) -> pl.DataFrame:
    """One row per line, with the declared fields; lines that are no objects are counted."""
    declared = {name: TYPES[kind] for name, kind in fields.items() if kind in TYPES}
    known = {name: dtype for name, dtype in SAMPLES.items() if name != "extra"}
    wide = {name: WIDE.get(type(dtype), dtype) for name, dtype in (known | declared).items()}
    schema = pl.Schema({"type": pl.String()} | wide | CONTROL)
    try:
        return pl.read_ndjson(io.BytesIO(block), schema=schema)
    except pl.exceptions.PolarsError:
        return pl.read_ndjson(io.BytesIO(_sound(block, log)), schema=schema, ignore_errors=True)


def _sound(block: bytes, log: Log) -> bytes:
    """The lines of a damaged block that are JSON objects."""
    good, bad = [], 0
    for line in block.splitlines():
        try:
            sound = isinstance(json.loads(line), dict)
        except ValueError:
            sound = False
        if sound:
            good.append(line)
        elif line.strip():
            bad += 1
    log.lose(Stat.LINES_UNREAD, bad, "loss", "Lines that are no JSON object.")
    return b"\n".join(good) + b"\n" if good else b"{}\n"


def _samples(frame: pl.DataFrame) -> pl.DataFrame:
    rows = frame.filter((pl.col("type") == "sample") & pl.col("ts_ns").is_not_null())
    named = {"type", *SAMPLES, *IDENTITY, *CONTROL}
    rest = [c.name for c in rows if c.name not in named and c.null_count() < rows.height]
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
    log.records += frame.filter(pl.col("type") == "sample").height
    kinds = set(frame["type"].drop_nulls().unique()) - {"sample", "header"}
    for row in frame.filter(pl.col("type") == "note").iter_rows(named=True):
        log.lose(Stat.NOTE, 1, "info", row["text"])
    if "aggregate" in kinds or "trailer" in kinds:
        for line in block.splitlines():
            if b'"aggregate"' in line or b'"trailer"' in line:
                _take(json.loads(line), log)


def _take(record: dict[str, Any], log: Log) -> None:
    if record.get("type") == "aggregate":
        log.aggregates[str(record.get("name"))] = record.get("value")
    elif record.get("type") == "trailer":
        log.complete = True
        log.end_offset_ns = _integer((record.get("clock") or {}).get("unix_offset_ns"))
        for where, count in (record.get("lost") or {}).items():
            log.lose(lost_in(where), int(count), "loss", f"Samples lost in the {where}.")
        said = sum((record.get("events") or {}).values())
        if said != log.records:
            missing = f"The trailer counts {said:,} samples, the log holds {log.records:,}."
            log.lose(Stat.SAMPLES_MISSING, abs(said - log.records), "loss", missing)


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
