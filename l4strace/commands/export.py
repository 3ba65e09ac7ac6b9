"""`l4strace export`: any table as parquet, csv or ndjson."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from l4strace import console
from l4strace.commands import inputs, study_folder, table_file
from l4strace.commands.arguments import Files, Part, complete_tables
from l4strace.commands.destination import Destination
from l4strace.commands.table_file import TableFormat
from l4strace.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from l4strace.evidence import Capture
    from l4strace.ingest.packets import Stretch
    from l4strace.ingest.selection import Selection
    from l4strace.pipeline import Judged
    from l4strace.studies.cells import Tables


def export(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", autocompletion=complete_tables,
                            help="Name of the table, such as rounds; an unknown one lists all.")
    ],
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE",
                          help="File to write; - for standard output.")
    ] = "-",
    format: Annotated[  # noqa: A002 - the option's name
        TableFormat | None,
        typer.Option("--format", "-f", help="Format of FILE. [default: by its name; csv for -]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
    part: Part,
    files: Files,
) -> None:  # fmt: skip
    """Write one table of a run as csv, ndjson or parquet.

    l4strace/schema declares every column with its unit. `packets` and `acks` are streamed: memory
    does not grow with the capture. `findings` and `measures` hold what the rules found. The name of
    FILE selects the format: .csv, .ndjson, .jsonl (each also with .gz) or .parquet. FILE appears
    only once it is complete. Captures that show no flow in common and do not overlap in time are
    judged one by one; their rows follow each other, and `source` and `flow` keep them apart. Of the
    results of a sweep: runs, flows, findings, and measures with the parameters of their runs.

    \b
    Examples:
      l4strace export rounds run.pcapng -o rounds.parquet
      l4strace export measures results -o measures.csv
    """
    from l4strace.schema import FOUND, STREAMED, TABLES

    if (kept := study_folder.tables(files.paths)) is not None:
        _of_study(kept, table, output, format, force)
        return
    if table not in TABLES | FOUND:
        raise UsageError(f"no table {table!r}", f"Tables: {', '.join(TABLES | FOUND)}.")
    selection = part.selection()
    wanted = format or table_file.by_name(output)
    target = Destination(output, lambda _: False, force)
    if wanted is TableFormat.parquet and target.to_stdout and sys.stdout.isatty():
        raise UsageError(
            "parquet is binary and standard output is a terminal", "Name a file with -o."
        )
    if table not in STREAMED:
        from l4strace.pipeline import Asked

        asked = Asked(selection, judge=table in FOUND, digests=table == "sources")
        runs = inputs.judged(files, asked)
        table_file.write(_of_runs(table, runs).lazy(), target, wanted)
        return
    with inputs.opened(files) as found, console.Progress("reading") as progress:
        frame = _streamed(table, list(found), progress, files.companions, selection)
        table_file.write(frame, target, wanted)


def _of_study(kept: Tables, table: str, output: str, form: TableFormat | None, force: bool) -> None:
    """A table of a sweep; measures with the parameters of their runs."""
    from l4strace.comparison.notebook import wide

    if table not in kept:
        raise UsageError(f"a sweep has no table {table!r}", f"Tables: {', '.join(kept)}.")
    target = Destination(output, lambda _: False, force)
    table_file.write(wide(kept, table).lazy(), target, form or table_file.by_name(output))


def _of_runs(table: str, runs: Sequence[Judged]) -> pl.DataFrame:
    """A table with the rows of all runs; findings are numbered over all of them."""
    from l4strace.evidence import traffic
    from l4strace.ingest.separate import together
    from l4strace.output import frames, several
    from l4strace.schema import FOUND

    evidence = traffic(together([run.evidence for run in runs]))
    if table in FOUND:
        found = several.together([(run.evidence, run.analysis) for run in runs])
        return frames.of(table, evidence, found)
    frame: pl.DataFrame = getattr(evidence, table)
    return frame


def _streamed(
    table: str,
    paths: list[str],
    progress: console.Progress,
    companions: bool,
    selection: Selection,
) -> pl.LazyFrame:
    """Packets of one capture are read once; else captures are tracked first, for flow numbers that
    all share and for what ACKs report."""
    import polars as pl

    from l4strace import pipeline
    from l4strace.ingest import acks, file_names, packets
    from l4strace.schema import TABLES

    if table == "packets" and len(paths) == 1 and selection == type(selection)():
        path = file_names.registered(paths[0])
        return packets.scan(lambda: packets.of_one_capture(path, progress))
    capture = pipeline.read(paths, progress, companions, digests=False)
    stretch, within = _stretch(capture, selection)

    def frames() -> Iterator[pl.DataFrame]:
        if table == "packets":
            return packets.batches(capture, progress, stretch=stretch)
        return acks.batches(capture, progress, stretch)

    return packets.scan(frames, TABLES[table]).filter(within or pl.lit(True))


def _stretch(capture: Capture, selection: Selection) -> tuple[Stretch, list[pl.Expr]]:
    """What of the captures to read, and which rows of it are in the time of their own run."""
    import polars as pl

    from l4strace import pipeline
    from l4strace.ingest.packets import Stretch

    flows = frozenset(selection.numbers(capture)) if selection.of_flows else None
    if not selection.of_time:
        return Stretch(flows), []
    runs = pipeline.unrelated(capture, selection)
    bounds = [selection.bounds_ns(run) for run in runs]
    within = [_within(run, *of) for run, of in zip(runs, bounds, strict=True)]
    span = min(first for first, _ in bounds), max(end for _, end in bounds)
    return Stretch(flows, span), [pl.any_horizontal(within)]


def _within(run: Capture, first_ns: int, end_ns: int) -> pl.Expr:
    """Whether a packet is one of ``run`` in the time that is selected."""
    import polars as pl

    ours = pl.col("source").is_in(run.sources["source"].to_list())
    return ours & (pl.col("ts_ns") >= first_ns) & (pl.col("ts_ns") < end_ns)
