"""`l4strace diagnose`: from files to a verdict and a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from l4strace import console
from l4strace import timings as where
from l4strace.commands import inputs
from l4strace.commands.answer import FailOn, exit_code, render
from l4strace.commands.arguments import Files, Format, Part, Printed, Rules, Threads
from l4strace.errors import UsageError
from l4strace.threads import suit

if TYPE_CHECKING:
    from l4strace.commands.answer import Judged
    from l4strace.commands.page_file import PageFile
    from l4strace.evidence import Capture
    from l4strace.selection import Selection


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
    where.forget()
    suit(files.paths)
    from l4strace.commands.page_file import PageFile, command_line, or_no_page

    with where.timed("import"):
        from l4strace import pipeline  # noqa: F401 - so that its time is not that of a stage
    form = printed.form
    part.check()
    asked = rules.checked()
    page = None
    with or_no_page(output):
        page = None if no_html else PageFile.plan(output, files.paths, form is Format.text, force)
    if page is not None and page.to_stdout and form is not Format.text:
        raise UsageError("-o - and --format both write to standard output", "Leave one out.")
    with inputs.opened(files) as found:
        read = inputs.tracked(found, files.companions)
        given, selection = _given(found, read), part.selection()
        parts = _parts(inputs.plain(read) if files.anonymize else read, selection)
        if output and len(parts) > 1:
            raise UsageError(
                f"the inputs are {len(parts)} unrelated runs, and -o names one page",
                "Leave -o out for a page beside each, or diagnose them one at a time.",
            )
        runs = [_judged(one, selection, asked) for one in parts]
        if page is not None or form is Format.json:
            runs = _proved(read, runs, files)
    with console.stage("summary"):
        summary = render(form, runs, fail_on)
    if page is not None and page.to_stdout:
        console.note(summary)
    else:
        console.emit(summary)
    if page is not None:
        command = "" if files.anonymize else command_line()
        with console.stage("page"):
            _write_pages(page, runs, given, command, output, force)
    if timings:
        console.note(where.table())
    raise typer.Exit(exit_code(runs, FailOn.never if form is Format.sarif else fail_on))


def _proved(read: Capture, runs: list[Judged], files: Files) -> list[Judged]:
    """The runs with the packets behind their findings; no copies where addresses are hidden."""
    from l4strace import pipeline

    with console.stage("prove"):
        return [
            (evidence, pipeline.prove(read, analysis, copy=not files.anonymize))
            for evidence, analysis in runs
        ]


def _write_pages(
    first: PageFile,
    runs: list[Judged],
    beside: Mapping[int, str],
    command: str,
    output: str,
    force: bool,
) -> None:
    """Writes ``first`` for the first run, and for each other run a page beside its first input."""
    from l4strace.commands.page_file import PageFile, or_no_page

    place: PageFile | None = first
    for number, (evidence, analysis) in enumerate(runs):
        with or_no_page(output):
            if number:
                place = PageFile.plan("", [beside[evidence.sources["source"][0]]], True, force)
            if place is not None:
                place.write(evidence, analysis, command)


def _given(paths: Mapping[str, str], capture: Capture) -> dict[int, str]:
    """The path of each input as it was given; of a companion, where it was found."""
    from l4strace.ingest import named

    given = {named.registered(path): own for path, own in paths.items()}
    return {
        source: given.get(path, path)
        for source, path in capture.sources.select("source", "path").iter_rows()
    }


def _parts(capture: Capture, selection: Selection) -> list[Capture]:
    """The unrelated runs of the inputs, without runs in which nothing is selected."""
    from l4strace import separate

    parts = separate.runs(capture)
    if len(parts) > 1 and selection.of_flows:
        selection.numbers(capture)
        parts = [part for part in parts if selection.chosen(part.flows).len()]
    return parts


def _judged(
    capture: Capture, selection: Selection, asked: tuple[tuple[str, ...], tuple[str, ...]]
) -> Judged:
    from l4strace import pipeline
    from l4strace.selection import findings_of, in_time, of_flows

    with console.stage("derive"):
        evidence = pipeline.derive(in_time(capture, selection))
    with console.stage("judge"):
        analysis = pipeline.judge(evidence, *asked, strict=console.settings().debug)
    shown = of_flows(evidence, selection)
    return shown, findings_of(analysis, shown) if selection.of_flows else analysis
