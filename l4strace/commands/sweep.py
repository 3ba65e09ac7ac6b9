"""`l4strace sweep`: many runs to one dataset and one page."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from l4strace import console
from l4strace.commands.arguments import complete_rules
from l4strace.commands.diagnose import Format

if TYPE_CHECKING:
    from l4strace.sweep.study import Done, Order

MEGABYTE = 1_000_000


def sweep(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE",
            help="A folder of runs, a .csv with one row a run, or a .txt with one run per line.",
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="RESULTS",
            help="Folder for the dataset and its page. [default: NAME.sweep]",
        ),
    ] = "",
    name: Annotated[
        str,
        typer.Option(
            "--name", metavar="PATTERN",
            help="Parameters in the names of runs, as '{cca}-vs-{rival}-{aqm}-{rtt:ms}'.",
        ),
    ] = "",
    manifest: Annotated[
        str,
        typer.Option(
            "--manifest", metavar="FILE", help="Name of the file that describes a folder's run."
        ),
    ] = "",
    files: Annotated[
        list[str] | None,
        typer.Option("--files", metavar="GLOB", help="Use only files with such names."),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select", metavar="RULE", autocompletion=complete_rules,
            help="Run only these rules: code, prefix (L4S3) or name.",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore", metavar="RULE", autocompletion=complete_rules, help="Skip these rules."
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", min=0, help="Processes. [default: one per core]")
    ] = 0,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="Most time of one run.")
    ] = 600.0,
    memory: Annotated[
        int, typer.Option("--memory", min=100, metavar="MB", help="Most memory of one run.")
    ] = 2000,
    pages: Annotated[
        bool, typer.Option("--pages", help="Write the page of each run, too.")
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Do runs again that failed.")] = False,
    scheduler: Annotated[
        str,
        typer.Option(
            "--scheduler", metavar="ADDRESS", help="Use the workers of this Dask scheduler."
        ),
    ] = "",
    format: Annotated[  # noqa: A002 - the option's name
        Format, typer.Option("--format", "-f", help="What to print on standard output.")
    ] = Format.text,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:  # fmt: skip
    """Diagnose many runs and keep what they show in one dataset.

    Each run is diagnosed as `diagnose` does it, in a process with limits of time and memory: one
    that fails is a row that states why. Killed at any point, the same command goes on where it
    stopped; a run is done again when its files, the options or l4strace changed. RESULTS holds the
    tables runs, flows, findings and measures as Apache Parquet (l4strace/schema/sweep.py), and
    index.html. A table of results that were made elsewhere enters as it is. Sources and RESULTS may
    be URLs that fsspec opens (pip install 'l4strace[cluster]').

    \b
    Examples:
      l4strace sweep runs/ --name '{cca}-vs-{rival}-{aqm}-{rtt:ms}' -o results
      l4strace sweep extend.csv.gz -o study
    """
    from l4strace import rules
    from l4strace.commands.arguments import words
    from l4strace.sweep import discover, pool, study
    from l4strace.sweep.planned import Limits, Options

    chosen, ignored = tuple(words(select)), tuple(words(ignore))
    rules.select(chosen, ignored)
    order = study.Order(
        tuple(sources),
        output or f"{discover.stem(sources[0])}.sweep",
        discover.How(name, manifest, tuple(files or ())),
        Options(chosen, ignored),
        Limits(timeout, memory * MEGABYTE),
        pages=pages,
        retry=retry,
    )
    measure = pool.on_cores(workers or os.cpu_count() or 1)
    if scheduler:
        from l4strace.sweep.cluster import on_cluster

        measure = on_cluster(scheduler)
    with Countdown("runs") as progress:
        done = study.sweep(order, measure, progress)
    _report(order, done, Format.json if json else format)


def _report(order: Order, done: Done, wanted: Format) -> None:
    from l4strace.sweep import summary

    if wanted is Format.json:
        from l4strace.output.json import dumps

        console.emit(dumps(summary.document(order.results, done)))
        return
    console.emit(summary.text(order.results, done))


class Countdown(console.Progress):
    """Shows runs done and the time left."""

    def state(self, done: int, total: int, elapsed: float) -> str:
        """`12 of 80, 0:34 left`."""
        left = f", {_clock(elapsed / done * (total - done))} left" if done else ""
        return f"{done:,} of {total:,}{left}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
