"""`l4strace sweep`: many runs to one dataset and one page."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from l4strace import console
from l4strace.commands.arguments import Format, Printed, Rules
from l4strace.commands.destination import Destination
from l4strace.errors import InputError, OutputError, UsageError

if TYPE_CHECKING:
    from l4strace.studies.cells import Tables
    from l4strace.studies.planned import Done
    from l4strace.studies.pool import Measure
    from l4strace.studies.study import Order

MEGABYTE = 1_000_000


class Runs(NamedTuple):
    """Where the runs are, how they are recognized, and where their results go."""

    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="A folder of runs, a .csv or .json with a row per run, a .txt with one per line.",
        ),
    ]
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="RESULTS",
            help="Folder for the dataset and its page. [default: NAME.sweep]",
        ),
    ] = ""
    name: Annotated[
        str,
        typer.Option(
            "--name",
            metavar="PATTERN",
            help="Pattern of the runs' names, such as '{cca}-vs-{rival}-{aqm}-{rtt:ms}-{rep:}'; "
            "{rep:} is a bare number.",
        ),
    ] = ""
    manifest: Annotated[
        str,
        typer.Option(
            "--manifest",
            metavar="FILE",
            help="Name of the file that describes the run in each folder.",
        ),
    ] = ""
    files: Annotated[
        list[str] | None,
        typer.Option("--files", metavar="GLOB", help="Use only files whose names match."),
    ] = None
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            metavar="COLUMN",
            help="This column of a table is a parameter; may be repeated.",
        ),
    ] = None
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            metavar="COLUMN",
            help="This column of a table is a measure; may be repeated.",
        ),
    ] = None
    repetition: Annotated[
        str,
        typer.Option(
            "--repetition", metavar="COLUMN", help="This column of a table numbers repetitions."
        ),
    ] = ""

    @property
    def results(self) -> str:
        """Folder of the dataset."""
        from l4strace.studies.sources import discover

        return self.output or f"{discover.stem(self.sources[0])}.sweep"


class Work(NamedTuple):
    """How runs are measured."""

    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            metavar="N",
            min=0,
            show_default=False,
            help="Number of processes. [default: one per core]",
        ),
    ] = 0
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="Time limit of one run.")
    ] = 600.0
    memory: Annotated[
        int, typer.Option("--memory", min=100, metavar="MB", help="Memory limit of one run.")
    ] = 2000
    pages: Annotated[bool, typer.Option("--pages", help="Also write the page of each run.")] = False
    retry: Annotated[bool, typer.Option("--retry", help="Repeat runs that failed.")] = False
    scheduler: Annotated[
        str,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="Run on the workers of this Dask scheduler, which is trusted with your account: "
            "use tls://.",
        ),
    ] = ""

    def measure(self) -> Measure:
        """How runs are measured: on this machine or a cluster. Raises UsageError without Dask."""
        if self.scheduler:
            from l4strace.studies.cluster import on_cluster

            return on_cluster(self.scheduler)
        from l4strace.studies import pool

        return pool.on_cores(self.workers or os.cpu_count() or 1)


def sweep(
    *,
    runs: Runs,
    rules: Rules,
    work: Work,
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline", metavar="FILE",
            help="Report what is worse than in this file or sweep; exit with 1 if anything is.",
        ),
    ] = "",
    write_baseline: Annotated[
        str, typer.Option("--write-baseline", metavar="FILE",
                          help="Write the numbers to FILE as baseline.")
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print runs and parameters, but measure nothing.")
    ] = False,
    printed: Printed,
) -> None:  # fmt: skip
    """Diagnose many runs and keep what they show in one dataset.

    Runs `diagnose` on each run, in a process with limits on time and memory. The row of a run that
    fails states why; if all fail, the exit code is 3. The same command resumes a sweep that was
    interrupted, and repeats a run only after its files, the options or l4strace changed. RESULTS
    holds the tables runs, flows, findings and measures as Apache Parquet
    (l4strace/schema/sweep.py), and index.html. Tables of results made elsewhere are imported
    unchanged. Sources and RESULTS may be URLs that fsspec opens (pip install 'l4strace[cluster]').

    \b
    Examples:
      l4strace sweep runs/ --name '{cca}-vs-{rival}-{aqm}-{rtt:ms}' -o results
      l4strace sweep patched/results.csv unpatched/results.csv --dry-run
    """
    from l4strace.studies import study

    form = printed.form
    if dry_run:
        _show_plan(_order(runs, rules, work), form)
        return
    known = _known(baseline, form)
    keep = _keeper(write_baseline)
    order = _order(runs, rules, work)
    with Countdown("runs") as progress:
        done = study.sweep(order, work.measure(), progress)
    if not baseline:
        _report(order, done, form)
    _some_measured(done)
    keep(done.tables)
    if baseline:
        raise typer.Exit(_regressions(order, done, known, baseline, form))


def _order(runs: Runs, rules: Rules, work: Work) -> Order:
    from l4strace.studies import study
    from l4strace.studies.planned import Limits, Options
    from l4strace.studies.sources import discover, elsewhere

    roles = elsewhere.Roles(tuple(runs.parameter or ()), tuple(runs.measure or ()), runs.repetition)
    return study.Order(
        tuple(runs.sources),
        runs.results,
        discover.How(runs.name, runs.manifest, tuple(runs.files or ()), roles),
        Options(*rules.checked()),
        Limits(work.timeout, work.memory * MEGABYTE),
        pages=work.pages,
        retry=work.retry,
    )


def _show_plan(order: Order, wanted: Format) -> None:
    """Prints the plan of a sweep."""
    from l4strace.studies.sources import discover, plan

    found = discover.discover(order.sources, order.how, order.options)
    if wanted is Format.json:
        from l4strace.output.json import dumps

        console.emit(dumps(plan.document(found)))
    else:
        console.emit(plan.text(found))


def _known(baseline: str, wanted: Format) -> Tables:
    """The baseline, read before the work; empty without one. Raises UsageError, InputError."""
    if not baseline:
        if wanted not in (Format.text, Format.json):
            raise UsageError(
                f"--format {wanted.value} reports regressions", "Name a baseline with --baseline."
            )
        return {}
    if wanted is Format.markdown:
        raise UsageError("a sweep has no form in Markdown", "Use text, json, sarif or junit.")
    from l4strace.comparison import libraries

    libraries.check()
    from l4strace.comparison import baseline as keeping

    return keeping.load(baseline)


def _keeper(place: str) -> Callable[[Tables], None]:
    """A function that writes the new baseline, if any. Raises the errors of Destination."""
    if not place:
        return lambda _: None
    from l4strace.comparison import baseline as keeping
    from l4strace.studies import places
    from l4strace.studies.store import Store

    if places.is_url(place):
        folder, _, name = place.rpartition("/")
        return lambda tables: Store(folder).write(name, keeping.packed(tables))
    try:
        target = Destination(place, keeping.is_one)
    except (OutputError, UsageError) as error:
        raise type(error)(str(error), "Name another file with --write-baseline.") from error

    def write(tables: Tables) -> None:
        with target.opened() as file:
            file.write(keeping.packed(tables))

    return write


def _report(order: Order, done: Done, wanted: Format) -> None:
    from l4strace.studies import summary

    if wanted is Format.json:
        from l4strace.output.json import dumps

        console.emit(dumps(summary.document(order.results, done)))
    else:
        console.emit(summary.text(order.results, done))


def _some_measured(done: Done) -> None:
    """Raises InputError when every run failed: there is nothing to report or to compare with."""
    runs = done.tables["runs"]
    if "ok" not in runs["status"]:
        all_failed = (
            "the only run failed" if runs.height == 1 else f"all {runs.height:,} runs failed"
        )
        raise InputError(all_failed, "The column error of the table runs has the reason of each.")


def _regressions(order: Order, done: Done, known: Tables, place: str, wanted: Format) -> int:
    """Prints what became worse; the exit code: SARIF always 0, else 1 for a regression."""
    from l4strace.comparison import baseline, document, text
    from l4strace.model import Severity
    from l4strace.output import json, junit, sarif

    compared = baseline.against(known, done.tables, (place, order.results))
    analysis = baseline.judge(compared, known, done.tables)
    if wanted is Format.json:
        findings = [json.finding_value(finding) for finding in analysis.findings]
        console.emit(json.dumps(document.document(compared) | {"regressions": findings}))
    elif wanted is Format.sarif:
        console.emit(sarif.render(baseline.capture(order.results), analysis))
    elif wanted is Format.junit:
        # A test case fails where the exit code is 1: any regression counts.
        capture = baseline.capture(order.results)
        console.emit(junit.render(capture, analysis, min(Severity)))
    else:
        lines = [f"{one.severity.name.lower()}: {one.message}" for one in analysis.findings]
        lines += [f"not judged: {one.rule}: {one.reason}" for one in analysis.skipped]
        console.emit("\n".join([*text.head(compared), *(lines or ["Nothing became worse."])]))
    return int(bool(analysis.findings) and wanted is not Format.sarif)


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
