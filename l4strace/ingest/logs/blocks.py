"""Text logs of one JSON object a line: blocks of whole lines, and which of those are sound."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from l4strace.core import _native
from l4strace.ingest import untrusted
from l4strace.ingest.logs.samples import Log
from l4strace.schema.words import Stat

BLOCK_BYTES = 1 << 24
KINDS: dict[type[pl.DataType], str] = {
    pl.Int64: "int",
    pl.UInt64: "uint",
    pl.Float64: "float",
    pl.Boolean: "bool",
    pl.String: "str",
}
"""Name that the native reader uses for each type."""
BAD_LINES = "Lines that are not JSON objects, or hold values of another type."


def blocks(path: str, log: Log, size: int = BLOCK_BYTES) -> Iterator[_native.Block]:
    """Whole lines, some megabytes at a time; what follows the last line end comes last.

    Fills in the log's compression and size, and what was lost: lines that are too long, and that
    it was cut where decompression reports that.
    """
    lines = untrusted.lines(path, size)
    yield from lines
    ended(lines, log)


def ended(lines: _native.Lines, log: Log) -> None:
    """Notes how the file was read and what was lost, once all ``lines`` are there."""
    most = untrusted.MOST_LINE >> 20
    log.lose(Stat.LINES_UNREAD, lines.long, "loss", f"Lines of more than {most} MB.")
    read_through(lines, log)


def read_through(file: _native.Lines | _native.Chunks, log: Log) -> None:
    """Notes how the file was read, and whether it breaks off."""
    log.compression, log.bytes_read = file.compression, file.bytes_read
    if file.error:
        log.complete = False
        log.lose(Stat.TRUNCATED_FILE, 1, "loss", file.error)


def frame(block: _native.Block, schema: pl.Schema) -> tuple[pl.DataFrame, int]:
    """One row per line with the columns of ``schema``, and how many lines do not fit."""
    table, unread = _native.records(block, kinds(schema))
    return whole(table, schema), unread


def kinds(schema: pl.Schema) -> list[tuple[str, str]]:
    """The columns of ``schema`` as the native reader takes them."""
    return [(name, KINDS[type(dtype)]) for name, dtype in schema.items()]


def whole(table: _native.ArrowTable, schema: pl.Schema) -> pl.DataFrame:
    """``table`` with the columns of ``schema`` that it lacks, which are null."""
    found = pl.DataFrame(table)
    # A literal takes no room, whatever the number of rows.
    absent = [
        pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in schema.items()
        if name not in found.columns
    ]
    return found.with_columns(absent).select(schema.names())
