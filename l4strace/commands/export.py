"""`l4strace export`: any table as parquet, csv or ndjson."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from l4strace import console
from l4strace.commands import inputs
from l4strace.commands.arguments import Anonymize, Key, NoCompanions, Paths, complete_tables
from l4strace.commands.destination import Destination
from l4strace.errors import L4straceError, OutputError, UsageError

if TYPE_CHECKING:
    import polars as pl

CONTROL = r"[\p{C}\p{Zl}\p{Zp}]"
"""Characters that move a cursor, end a line or turn the writing direction."""


class TableFormat(str, Enum):
    """How a table is written."""

    csv = "csv"
    ndjson = "ndjson"
    parquet = "parquet"


def export(
    table: Annotated[str, typer.Argument(metavar="TABLE", autocompletion=complete_tables,
                                         help="Name of the table, as in the README.")],
    paths: Paths,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Write here. [default: -]")
    ] = "-",
    format: Annotated[  # noqa: A002 - the option's name
        TableFormat | None,
        typer.Option("--format", "-f", help="[default: by the name of FILE, else csv]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
    anonymize: Anonymize = False,
    key: Key = "",
    no_companions: NoCompanions = False,
) -> None:  # fmt: skip
    """Write one table of a run as csv, ndjson or parquet.

    l4strace/schema declares every column with its unit. `packets` is streamed: a capture of any
    size fits in memory.

    \b
    Examples:
      l4strace export rounds run.pcapng -o rounds.parquet
      l4strace export packets run.pcapng --format ndjson | head
    """
    from l4strace import pipeline
    from l4strace.schema import TABLES

    if table not in TABLES:
        raise UsageError(f"no table {table!r}", f"Tables: {', '.join(TABLES)}.")
    wanted = format or _by_name(output)
    target = Destination(output, lambda _: False, force)
    if wanted is TableFormat.parquet and target.to_stdout and sys.stdout.isatty():
        raise UsageError(
            "parquet is binary and standard output is a terminal", "Name a file with -o."
        )
    if table != "packets":
        capture = inputs.read(paths, anonymize, key, not no_companions)
        frame: pl.DataFrame = getattr(pipeline.derive(capture), table)
        _write(frame.lazy(), target, wanted)
        return
    with (
        inputs.opened(paths, anonymize, key, not no_companions) as found,
        console.Progress("reading") as progress,
    ):
        _write(_packets(found, progress, not no_companions), target, wanted)


def _packets(paths: list[str], progress: console.Progress, companions: bool) -> pl.LazyFrame:
    """One capture is read once; several are tracked first, for flow numbers that all share."""
    from l4strace import pipeline
    from l4strace.ingest import named, packets

    if len(paths) == 1:
        path = named.registered(paths[0])
        return packets.scan(lambda: packets.of_one_capture(path, progress))
    capture = pipeline.read(paths, progress, companions)
    return packets.scan(lambda: packets.batches(capture, progress))


def _by_name(output: str) -> TableFormat:
    ending = Path(output).suffix.removeprefix(".")
    return TableFormat(ending) if ending in {f.value for f in TableFormat} else TableFormat.csv


def _write(frame: pl.LazyFrame, target: Destination, wanted: TableFormat) -> None:
    """Writes batch by batch, so that packets are never held in memory."""
    import polars as pl

    with target.opened() as file:
        try:
            if wanted is TableFormat.csv:
                _plain(_flat(frame)).sink_csv(file)
            elif wanted is TableFormat.ndjson:
                _plain(frame).sink_ndjson(file)
            else:
                frame.sink_parquet(file)
        except (OSError, pl.exceptions.PolarsError) as error:
            if isinstance(error, L4straceError):
                raise
            # A reader such as `head` that has had enough is not a failure.
            if "Broken pipe" in str(error):
                raise BrokenPipeError from error
            why = str(error).partition("\n")[0].partition(" (os error")[0]
            raise OutputError(f"{target.name}: cannot be written ({why})") from error


def _flat(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Lists as text, because a field of a csv file holds one value."""
    import polars as pl

    lists = [name for name, dtype in frame.collect_schema().items() if dtype == pl.List]
    return frame.with_columns(pl.col(lists).cast(pl.List(pl.String)).list.join(" "))


def _plain(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Texts without control characters: csv and ndjson end up on terminals."""
    import polars as pl

    texts = pl.col(pl.String)
    return frame.with_columns(texts.str.replace_all(CONTROL, "\N{REPLACEMENT CHARACTER}"))
