"""`l4strace diagnose`: from files to a verdict and a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from l4strace import console
from l4strace import timings as where
from l4strace.commands import inputs
from l4strace.commands.answer import FailOn, Format, exit_code, render
from l4strace.commands.arguments import (
    Anonymize,
    Flow,
    From,
    Host,
    Key,
    NoCompanions,
    Paths,
    Port,
    Threads,
    To,
    complete_rules,
    words,
)
from l4strace.errors import UsageError

if TYPE_CHECKING:
    from l4strace.commands.answer import Judged
    from l4strace.evidence import Capture
    from l4strace.selection import Selection


def diagnose(
    paths: Paths,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="PAGE",
            help="Write the page here; - for standard output. [default: STEM.html]",
        ),
    ] = "",
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no page.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file that l4strace did not write.")
    ] = False,
    format: Annotated[  # noqa: A002 - the option's name
        Format, typer.Option("--format", "-f", help="What to print on standard output.")
    ] = Format.text,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Exit with 1 if a finding is at least this severe.")
    ] = FailOn.error,
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
            "--ignore", metavar="RULE", autocompletion=complete_rules,
            help="Skip these rules.",
        ),
    ] = None,
    flow: Flow = None,
    port: Port = None,
    host: Host = None,
    from_s: From = None,
    to_s: To = None,
    anonymize: Anonymize = False,
    key: Key = "",
    no_companions: NoCompanions = False,
    threads: Threads = None,  # noqa: ARG001 - its callback sets it
    timings: Annotated[
        bool, typer.Option("--timings", help="Print where the time went to standard error.")
    ] = False,
) -> None:  # fmt: skip
    """Diagnose L4S, Prague and AccECN from captures and kernel logs.

    Each finding comes with its confidence, its evidence and what to do.

    Reads captures (pcap, pcapng; plain, gz, xz or zst; - for standard input), kernel logs and host
    files, and recognizes each by its content. Logs beside a capture with the same stem are read
    too. Prints a summary and writes the page STEM.html beside the first input; with --format other
    than text only if -o asks for a page. Captures that show no flow in common and do not overlap in
    time are judged one by one, with a page each.

    \b
    Examples:
      l4strace diagnose run.pcapng
      l4strace diagnose client.pcap server.pcap trace.txt.zst -o ticket-4711.html
    """
    where.forget()
    with where.timed("import"):
        from l4strace import pipeline, rules
    from l4strace.commands.page_file import PageFile, command_line
    from l4strace.selection import Selection

    selection = Selection.of(flow, port, host, from_s, to_s)
    wanted = Format.json if json else format
    chosen, ignored = words(select), words(ignore)
    rules.select(chosen, ignored)
    page = None if no_html else PageFile.plan(output, paths, wanted is Format.text, force)
    if page is not None and page.to_stdout and wanted is not Format.text:
        raise UsageError("-o - and --format both write to standard output", "Leave one out.")
    with inputs.opened(paths, anonymize, key, not no_companions) as found:
        read = inputs.tracked(found, not no_companions)
        given = _given(found, read)
        parts = _parts(inputs.plain(read) if anonymize else read, selection)
        if output and len(parts) > 1:
            raise UsageError(
                f"the inputs are {len(parts)} unrelated runs, and -o names one page",
                "Leave -o out for a page beside each, or diagnose them one at a time.",
            )
        runs = [_judged(part, selection, chosen, ignored) for part in parts]
        if page is not None or wanted is Format.json:
            with console.stage("prove"):
                # A page that hides addresses must not carry the packets themselves.
                runs = [
                    (evidence, pipeline.prove(read, analysis, copy=not anonymize))
                    for evidence, analysis in runs
                ]
    with console.stage("summary"):
        summary = render(wanted, runs, fail_on)
    if page is not None and page.to_stdout:
        console.note(summary)
    else:
        console.emit(summary)
    if page is not None:
        later = (
            PageFile.plan("", [given[evidence.sources["source"][0]]], True, force)
            for evidence, _ in runs[1:]
        )
        command = "" if anonymize else command_line()
        with console.stage("page"):
            for place, (evidence, analysis) in zip((page, *later), runs, strict=True):
                if place is not None:
                    place.write(evidence, analysis, command)
    if timings:
        console.note(where.table())
    raise typer.Exit(exit_code(runs, FailOn.never if wanted is Format.sarif else fail_on))


def _given(paths: Mapping[str, str], capture: Capture) -> dict[int, str]:
    """The path of each input as it was given; of a companion, where it was found."""
    from l4strace.ingest import named

    given = {named.registered(path): own for path, own in paths.items()}
    return {
        source: given.get(path, path)
        for source, path in capture.sources.select("source", "path").iter_rows()
    }


def _parts(capture: Capture, selection: Selection) -> list[Capture]:
    """The unrelated runs of the inputs, without those of which nothing is selected."""
    from l4strace import separate

    parts = separate.runs(capture)
    if len(parts) > 1 and selection.of_flows:
        selection.numbers(capture)
        parts = [part for part in parts if selection.chosen(part.flows).len()]
    return parts


def _judged(
    capture: Capture, selection: Selection, chosen: Sequence[str], ignored: Sequence[str]
) -> Judged:
    from l4strace import pipeline
    from l4strace.selection import findings_of, in_time, of_flows

    with console.stage("derive"):
        evidence = pipeline.derive(in_time(capture, selection))
    with console.stage("judge"):
        analysis = pipeline.judge(evidence, chosen, ignored, strict=console.settings().debug)
    shown = of_flows(evidence, selection)
    return shown, findings_of(analysis, shown) if selection.of_flows else analysis
