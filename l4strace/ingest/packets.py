"""The tables `packets` and `acks`: streamed out of the captures on demand, never held in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import polars as pl
from polars.io.plugins import register_io_source

from l4strace.core import _native
from l4strace.errors import InputError
from l4strace.evidence import Capture
from l4strace.ingest import file_names
from l4strace.schema import TABLES, Table
from l4strace.schema.words import CAPTURES

Progress = Callable[[int, int], object]
OF_DATAGRAMS = ("flow", "transport", "client", "client_port", "server", "server_port")
"""Columns of `flows` by which the native module finds datagrams."""


class Stretch(NamedTuple):
    """Some packets of a run: those of these flows, those from one moment to another."""

    flows: frozenset[int] | None = None
    span_ns: tuple[int, int] | None = None
    """On the run's clock, both ends included."""
    ends_behind: int | None = None
    """Behind this frame, nothing is looked for where the time is over; null: a clock may be set
    back."""


WHOLE_RUN = Stretch()


def batches(
    capture: Capture,
    progress: Progress | None = None,
    columns: Sequence[str] = (),
    stretch: Stretch = WHOLE_RUN,
) -> Iterator[pl.DataFrame]:
    """The packets of a run, source by source, with its flow numbers and on its clock.

    Each frame has the columns of the `packets` table, or just ``columns``, `ts_ns` among them.
    Raises InputError when an input cannot be read a second time, as standard input cannot.
    """
    for source in sources(capture):
        yield from of_source(capture, source, progress, columns, [stretch])


def sources(capture: Capture) -> list[int]:
    """Numbers of the run's inputs that are captures."""
    return capture.sources.filter(pl.col("kind").is_in(CAPTURES))["source"].to_list()


def of_source(
    capture: Capture,
    number: int,
    progress: Progress | None = None,
    columns: Sequence[str] = (),
    stretches: Sequence[Stretch] = (WHOLE_RUN,),
) -> Iterator[pl.DataFrame]:
    """Streams the packets of the capture that is input ``number`` of a run."""
    second = second_pass(capture, number)
    own = [second.own(stretch) for stretch in stretches]
    stream = _native.packets(second.path, number, second.starts, columns, own)
    yield from second.on_the_runs_clock(_frames(stream, progress))


class SecondPass(NamedTuple):
    """Data of the first pass that a second pass over a capture needs."""

    path: str
    starts: list[tuple[int, int]]
    """First frame and number of each conversation."""
    offset_ns: int
    """Offset added to the capture's clock to get the run's clock."""

    def own(self, stretch: Stretch) -> Stretch:
        """``stretch`` on the capture's own clock."""
        if stretch.span_ns is None:
            return stretch
        start, end = stretch.span_ns
        return stretch._replace(span_ns=(start - self.offset_ns, end - self.offset_ns))

    def on_the_runs_clock(self, frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """``frames`` with their `ts_ns` as the run counts them."""
        for frame in frames:
            yield frame.with_columns(pl.col("ts_ns") + self.offset_ns) if self.offset_ns else frame


def second_pass(capture: Capture, number: int) -> SecondPass:
    """Needs of a second pass over input ``number``. Raises InputError if it was a pipe."""
    source = capture.sources.filter(pl.col("source") == number).row(0, named=True)
    if not file_names.read_twice(source["path"]):
        raise InputError(f"{source['path']}: a pipe cannot be read twice", "Name a file.")
    path = file_names.opened(source["path"])
    return SecondPass(path, _starts(capture, number), source["clock_offset_ns"] or 0)


def of_one_capture(path: str, progress: Progress | None = None) -> Iterator[pl.DataFrame]:
    """All packets of one capture, which may be standard input."""
    yield from _frames(_native.packets(file_names.opened(path)), progress)


def acks_of_source(
    capture: Capture, number: int, progress: Progress | None, stretch: Stretch
) -> Iterator[pl.DataFrame]:
    """Streams the `acks` table of one capture, without what the kernel sampled beside them."""
    second = second_pass(capture, number)
    stream = _native.acks(second.path, number, second.starts, [second.own(stretch)])
    yield from second.on_the_runs_clock(_frames(stream, progress))


def scan(
    frames: Callable[[], Iterator[pl.DataFrame]], table: Table = TABLES["packets"]
) -> pl.LazyFrame:
    """A streamed table as a lazy frame, to be filtered or written batch by batch."""

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

    return register_io_source(source, schema=table.schema)


def _starts(capture: Capture, source: int) -> list[tuple[int, int]]:
    """First frame and number of each of the source's conversations over TCP."""
    rows = capture.flows.filter(pl.col("source") == source).drop_nulls("first_frame")
    return list(rows.select("first_frame", "flow").iter_rows())


def _frames(stream: _native.Batches, progress: Progress | None) -> Iterator[pl.DataFrame]:
    for batch in stream:
        if progress is not None:
            progress(*stream.progress)
        yield pl.DataFrame(batch)
