"""`l4strace export`: any table as parquet, csv or ndjson."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from l4strace import console
from l4strace.commands.arguments import Paths, complete_tables
from l4strace.errors import UsageError

if TYPE_CHECKING:
    import polars as pl


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
) -> None:  # fmt: skip
    """Write one table of a run as csv, ndjson or parquet.

    Columns, units and their meaning are declared once; `packets` is streamed and never held in
    memory.

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
    if output != "-" and Path(output).exists() and not force:
        raise UsageError(f"{output}: exists", "Name another with -o, or say --force.")
    if wanted is TableFormat.parquet and output == "-" and sys.stdout.isatty():
        raise UsageError("parquet is not for a terminal", "Name a file with -o.")
    with console.Progress("reading") as progress:
        if table == "packets":
            raise UsageError("export packets is not there yet")
        capture = pipeline.read(paths, progress)
        frame: pl.DataFrame = getattr(pipeline.derive(capture), table)
    _write(frame, output, wanted)


def _by_name(output: str) -> TableFormat:
    ending = Path(output).suffix.removeprefix(".")
    return TableFormat(ending) if ending in {f.value for f in TableFormat} else TableFormat.csv


def _write(frame: pl.DataFrame, output: str, wanted: TableFormat) -> None:
    target = sys.stdout.buffer if output == "-" else Path(output)
    if wanted is TableFormat.csv:
        frame.write_csv(target)
    elif wanted is TableFormat.ndjson:
        frame.write_ndjson(target)
    else:
        frame.write_parquet(target)
