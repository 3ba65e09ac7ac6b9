"""`l4strace diagnose`: from files to a verdict and a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from l4strace import console, resources
from l4strace.commands import inputs
from l4strace.commands.answer import Expect, FailOn, exit_code, render
from l4strace.commands.arguments import Files, Format, Part, Printed, Rules, Threads
from l4strace.errors import OutputError, UsageError

if TYPE_CHECKING:
    from l4strace.commands.page_file import PageFile
    from l4strace.evidence import Capture
    from l4strace.pipeline import Judged

ONE_PAGE = "-o names one page: leave it out for a page of each, or diagnose them one at a time."

SHOW_DIGESTS = (Format.json, Format.markdown)
"""Formats that state the checksum of each input; every page does."""


def diagnose(
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="PAGE",
            help="File for the page; - for standard output. [default: STEM.html]",
        ),
    ] = "",
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no page.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file that l4strace did not write.")
    ] = False,
    printed: Printed,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Exit with 1 if a finding is at least this severe.")
    ] = FailOn.error,
    expect: Annotated[
        list[Expect] | None,
        typer.Option("--expect", help="Exit with 1 unless the run is so; may be repeated."),
    ] = None,
    rules: Rules,
    part: Part,
    files: Files,
    threads: Threads = None,  # noqa: ARG001 - its callback sets it
    timings: Annotated[
        bool, typer.Option("--timings", help="Print the time of each stage to standard error.")
    ] = False,
) -> None:  # fmt: skip
    """Diagnose L4S, Prague and AccECN from captures and kernel logs.

    Each finding states its confidence, its evidence and what to do.

    Reads captures (pcap, pcapng; plain, gz, xz or zst; - for standard input), kernel logs and host
    files, and recognizes each by its content. Also reads logs beside a capture that have its stem.
    Prints a summary and writes the page STEM.html beside the first input; with --format other than
    text it writes a page only with -o. Captures that neither share a flow nor overlap in time are
    judged one by one, each with its own page.

    \b
    Examples:
      l4strace diagnose run.pcapng
      l4strace diagnose client.pcap server.pcap trace.txt.zst -o ticket-4711.html
    """
    resources.forget_timings()
    resources.one_thread_of_polars()
    from l4strace.commands.page_file import PageFile, command_line

    with resources.timed("import"):
        from l4strace.pipeline import Asked
    form = printed.form
    part.check()
    select, ignore = rules.checked()
    page = None
    # Whether a page that nobody named has a place is said beside it, after the verdict.
    with nullcontext() if output else suppress(OutputError):
        page = None if no_html else PageFile.plan(output, files.paths, form is Format.text, force)
    if page is not None and page.to_stdout and form is not Format.text:
        raise UsageError("-o - and --format both write to standard output", "Leave one out.")
    pages = not no_html and bool(output or form is Format.text)
    asked = Asked(
        part.selection(),
        select,
        ignore,
        prove=page is not None or form is Format.json,
        # A page that hides addresses must not carry copies.
        excerpt=not files.anonymize,
        digests=pages or form in SHOW_DIGESTS,
        one_run=ONE_PAGE if output else "",
        strict=console.settings().debug,
    )
    with inputs.opened(files) as found:
        judged = inputs.diagnosed(files, found, asked)
        beside = [_given(found, run.read) for run in judged[1:]]
    if expect:
        judged = [_compared(run, [one.value for one in expect]) for run in judged]
    runs = [(run.evidence, run.analysis) for run in judged]
    with console.stage("summary"):
        summary = render(form, runs, fail_on)
    if page is not None and page.to_stdout:
        console.note(summary)
    else:
        console.emit(summary)
    if pages:
        command = "" if files.anonymize else command_line()
        with console.stage("page"):
            _write_pages(page, judged, [files.paths[0], *beside], command, output, force)
    if timings:
        console.note(resources.timings())
    raise typer.Exit(exit_code(runs, FailOn.never if form is Format.sarif else fail_on))


def _compared(run: Judged, expected: Sequence[str]) -> Judged:
    """``run`` with what of ``expected`` it is not."""
    from l4strace.wording.expectations import unmet

    missed = unmet(run.analysis, expected)
    return replace(run, analysis=replace(run.analysis, expected=tuple(expected), unmet=missed))


def _write_pages(
    first: PageFile | None,
    runs: Sequence[Judged],
    beside: Sequence[str],
    command: str,
    output: str,
    force: bool,
) -> None:
    """Writes ``first`` for the first run, and for the others pages ``beside`` their inputs."""
    from l4strace.commands.page_file import PageFile, or_no_page

    place = first
    for run, path in zip(runs, beside, strict=True):
        with or_no_page(output):
            if run is not runs[0] or place is None:
                place = PageFile.plan("", [path], True, force)
            if place is not None:
                place.write(run.evidence, run.analysis, command)


def _given(paths: Mapping[str, str], run: Capture) -> str:
    """The first input of ``run`` as it was named; a companion by the path where it was found."""
    from l4strace.ingest import file_names

    first = run.sources["path"][0]
    return next((own for path, own in paths.items() if file_names.registered(path) == first), first)
