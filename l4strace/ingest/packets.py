"""The `packets` table: streamed out of the captures on demand, never held in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl
from polars.io.plugins import register_io_source

from l4strace.core import _native
from l4strace.errors import InputError
from l4strace.evidence import Capture
from l4strace.ingest import file_names
from l4strace.schema import TABLES
from l4strace.schema.words import CAPTURES

Progress = Callable[[int, int], object]


def batches(
    capture: Capture, progress: Progress | None = None, columns: Sequence[str] = ()
) -> Iterator[pl.DataFrame]:
    """All packets of a run, source by source, with its flow numbers and on its clock.

    Each frame has the columns of the `packets` table, or just ``columns``, `ts_ns` among them.
    Raises InputError when an input cannot be read a second time, as standard input cannot.
    """
    for source in capture.sources.filter(pl.col("kind").is_in(CAPTURES))["source"]:
        yield from of_source(capture, source, progress, columns)


def of_source(
    capture: Capture,
    number: int,
    progress: Progress | None = None,
    columns: Sequence[str] = (),
) -> Iterator[pl.DataFrame]:
    """Streams the packets of the capture that is input ``number`` of a run."""
    second = second_pass(capture, number)
    offset = second.offset_ns
    for frame in _frames(second.path, number, second.starts, progress, columns):
        yield frame.with_columns(pl.col("ts_ns") + offset) if offset else frame


class SecondPass(NamedTuple):
    """Data of the first pass that a second pass over a capture needs."""

    path: str
    starts: list[tuple[int, int]]
    """First frame and number of each conversation."""
    offset_ns: int
    """Offset added to the capture's clock to get the run's clock."""


def second_pass(capture: Capture, number: int) -> SecondPass:
    """Needs of a second pass over input ``number``. Raises InputError if it was a pipe."""
    source = capture.sources.filter(pl.col("source") == number).row(0, named=True)
    if not read_twice(source["path"]):
        raise InputError(f"{source['path']}: a pipe cannot be read twice", "Name a file.")
    path = file_names.opened(source["path"])
    return SecondPass(path, _starts(capture, number), source["clock_offset_ns"] or 0)


def read_twice(path: str) -> bool:
    """Whether the input that tables call ``path`` can be read twice: no pipe, no stdin."""
    return Path(file_names.opened(path)).is_file()


def of_one_capture(path: str, progress: Progress | None = None) -> Iterator[pl.DataFrame]:
    """All packets of one capture, which may be standard input."""
    yield from _frames(file_names.opened(path), 0, None, progress)


def scan(frames: Callable[[], Iterator[pl.DataFrame]]) -> pl.LazyFrame:
    """The packets as a lazy frame, to be filtered or written batch by batch."""

    def source(
        columns: Sequence[str] | None,
        predicate: pl.Expr | None,
        rows: int | None,
        batch_size: int | None,  # noqa: ARG001 - polars passes it
    ) -> Iterator[pl.DataFrame]:
        left = rows
        for frame in frames():
            chosen = frame if left is None else frame.head(left)
            left = None if left is None else left - chosen.height
            chosen = chosen if predicate is None else chosen.filter(predicate)
            yield chosen if columns is None else chosen.select(columns)
            if left == 0:
                return

    return register_io_source(source, schema=TABLES["packets"].schema)


def _starts(capture: Capture, source: int) -> list[tuple[int, int]]:
    """First frame and number of each of the source's conversations."""
    rows = capture.directions.filter(pl.col("source") == source)
    return list(
        rows.group_by("flow")
        .agg(pl.col("first_frame").min())
        .select("first_frame", "flow")
        .iter_rows()
    )


def _frames(
    path: str,
    source: int,
    starts: list[tuple[int, int]] | None,
    progress: Progress | None,
    columns: Sequence[str] = (),
) -> Iterator[pl.DataFrame]:
    stream = _native.packets(path, source, starts, columns)
    for batch in stream:
        if progress is not None:
            progress(*stream.progress)
        yield pl.DataFrame(batch)
