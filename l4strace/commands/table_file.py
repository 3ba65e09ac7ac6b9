"""Tables as files: the format by the name of the file, written batch by batch."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from l4strace.commands.destination import Destination
from l4strace.errors import L4straceError, OutputError, UsageError, reason

if TYPE_CHECKING:
    import polars as pl


class TableFormat(str, Enum):
    """How a table is written."""

    csv = "csv"
    ndjson = "ndjson"
    parquet = "parquet"


SUFFIXES = {
    ".csv": TableFormat.csv,
    ".csv.gz": TableFormat.csv,
    ".ndjson": TableFormat.ndjson,
    ".ndjson.gz": TableFormat.ndjson,
    ".jsonl": TableFormat.ndjson,
    ".jsonl.gz": TableFormat.ndjson,
    ".parquet": TableFormat.parquet,
}
"""Endings of file names; parquet compresses by itself."""


def by_name(output: str) -> TableFormat:
    """The format that the name of ``output`` asks for; csv for a stream, a device or a pipe.

    Raises UsageError for any other ending: a table must not hide under a wrong name.
    """
    path = Path(output)
    if output == "-" or (path.exists() and not path.is_file()):
        return TableFormat.csv
    for suffix, wanted in SUFFIXES.items():
        if path.name.endswith(suffix):
            return wanted
    endings = ", ".join(SUFFIXES)
    raise UsageError(
        f"{output}: its name shows no format", f"Use one of {endings}, or name one with --format."
    )


def write(frame: pl.LazyFrame, target: Destination, wanted: TableFormat) -> None:
    """Writes batch by batch, so that packets are never held in memory.

    Raises OutputError when the target takes no more. A reader that went away is no error.
    """
    import polars as pl

    with target.opened() as opened:
        kept = _Watched(opened)
        try:
            with _packed(kept, target.output) as file:  # type: ignore[arg-type]
                if wanted is TableFormat.csv:
                    _inert(_plain(_flat(frame))).sink_csv(file)
                elif wanted is TableFormat.ndjson:
                    _plain(frame).sink_ndjson(file)
                else:
                    frame.sink_parquet(file)
        except (OSError, pl.exceptions.PolarsError) as error:
            if isinstance(error, L4straceError):
                raise
            if kept.failed:
                raise kept.failed from error
            raise OutputError(f"{target.name}: cannot be written ({reason(error)})") from error


class _Watched:
    """A file that keeps why it took no more: polars words it in its own way, or not at all."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.failed: OSError | None = None

    def write(self, data: bytes) -> int:
        """Writes bytes, as a file does."""
        try:
            return self._file.write(data)
        except OSError as error:
            self.failed = error
            raise

    def flush(self) -> None:
        """Flushes what was written, as a file does."""
        try:
            self._file.flush()
        except OSError as error:
            self.failed = error
            raise


@contextmanager
def _packed(file: BinaryIO, name: str) -> Iterator[BinaryIO]:
    """gzip by the name of the file; without a time in it, so that equal tables are equal files."""
    if not name.endswith(".gz"):
        yield file
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        yield packed  # type: ignore[misc]


def _flat(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Lists as text, because a field of a csv file holds one value."""
    import polars as pl

    lists = {name: dtype for name, dtype in frame.collect_schema().items() if dtype == pl.List}
    return frame.with_columns(
        pl.col(name)
        .cast(pl.List(pl.String))
        .list.join("; " if dtype == pl.List(pl.String) else " ")
        for name, dtype in lists.items()
    )


def _inert(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Texts that no spreadsheet runs."""
    import polars as pl

    from l4strace.wording.spreadsheet import guarded

    return frame.with_columns(guarded(pl.col(pl.String)))


def _plain(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Texts without control characters: csv and ndjson end up on terminals."""
    import polars as pl

    from l4strace.ingest.untrusted import CONTROL

    texts = pl.col(pl.String)
    return frame.with_columns(texts.str.replace_all(CONTROL, "\N{REPLACEMENT CHARACTER}"))
