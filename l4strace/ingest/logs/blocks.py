"""Text logs of one JSON object a line: blocks of whole lines, and which of those are sound."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from l4strace.ingest import untrusted
from l4strace.ingest.logs.samples import Log
from l4strace.schema.words import Stat

BLOCK_BYTES = 1 << 24
BAD_LINES = "Lines that are not JSON objects, or hold values of another type."


def blocks(path: str, log: Log, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Whole lines, some megabytes at a time; what follows the last line end comes last.

    Fills in the log's compression and size, and what was lost: lines that are too long, and that
    it was cut where decompression reports that.
    """
    lines = untrusted.Lines(path, size)
    yield from lines
    log.compression, log.bytes_read = lines.compression, lines.bytes_read
    most = untrusted.MOST_LINE >> 20
    log.lose(Stat.LINES_UNREAD, lines.long, "loss", f"Lines of more than {most} MB.")
    if lines.error:
        log.complete = False
        log.lose(Stat.TRUNCATED_FILE, 1, "loss", lines.error)


def frame(block: bytes, schema: pl.Schema, log: Log) -> pl.DataFrame:
    """One row per line with the columns of ``schema``; lines that do not fit are counted."""
    try:
        return pl.read_ndjson(io.BytesIO(block), schema=schema)
    except pl.exceptions.PolarsError:
        pass
    rows, bad = [], 0
    for line in filter(bytes.strip, block.splitlines()):
        row = untrusted.record(line, strict=True)
        row = None if row is None else _row(row, schema)
        if row is None:
            bad += 1
        else:
            rows.append(json.dumps(row))
    log.lose(Stat.LINES_UNREAD, bad, "loss", BAD_LINES)
    if not rows:
        return pl.DataFrame(schema=schema)
    return pl.read_ndjson(io.BytesIO("\n".join(rows).encode()), schema=schema, ignore_errors=True)


def _row(record: Mapping[str, Any], schema: pl.Schema) -> dict[str, Any] | None:
    """The columns of ``schema`` in one record; null when one has a value of another type."""
    row = {name: value for name, value in record.items() if name in schema and value is not None}
    return row if all(_fits(value, schema[name]) for name, value in row.items()) else None


def _fits(value: object, dtype: pl.DataType) -> bool:
    if isinstance(dtype, pl.String):
        return True
    if isinstance(dtype, pl.Boolean):
        return isinstance(value, bool)
    if isinstance(dtype, pl.Float64):
        return untrusted.number(value) is not None
    unsigned = isinstance(dtype, pl.UInt64)
    return untrusted.whole(value, *((0, 2**64 - 1) if unsigned else ())) is not None
