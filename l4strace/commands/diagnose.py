"""`l4strace diagnose`: from files to a verdict and a page."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from l4strace import console
from l4strace.commands import inputs
from l4strace.commands.arguments import Anonymize, Key, NoCompanions, Paths, complete_rules
from l4strace.errors import UsageError

if TYPE_CHECKING:
    from l4strace.evidence import Evidence
    from l4strace.model import Analysis


class Format(str, Enum):
    """What goes to standard output."""

    text = "text"
    json = "json"
    markdown = "markdown"
    sarif = "sarif"
    junit = "junit"


class FailOn(str, Enum):
    """The lowest severity that makes the exit code 1."""

    error = "error"
    warning = "warning"
    notice = "notice"
    info = "info"
    never = "never"


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
    anonymize: Anonymize = False,
    key: Key = "",
    no_companions: NoCompanions = False,
) -> None:  # fmt: skip
    """Diagnose L4S, Prague and AccECN from captures and kernel logs.

    Each finding comes with its confidence, its evidence and what to do.

    Reads captures (pcap, pcapng; plain, gz, xz or zst; - for standard input), kernel logs and host
    files, and recognizes each by its content. Logs beside a capture with the same stem are read
    too. Prints a summary and writes the page STEM.html beside the first input; with --format other
    than text only if -o asks for a page.

    \b
    Examples:
      l4strace diagnose run.pcapng
      l4strace diagnose client.pcap server.pcap trace.txt.zst -o ticket-4711.html
    """
    from l4strace import pipeline, rules
    from l4strace.commands.page_file import PageFile, command_line

    wanted = Format.json if json else format
    chosen, ignored = _words(select), _words(ignore)
    rules.select(chosen, ignored)
    page = None if no_html else PageFile.plan(output, paths, wanted is Format.text, force)
    if page is not None and page.to_stdout and wanted is not Format.text:
        raise UsageError("-o - and --format both write to standard output", "Leave one out.")
    capture = inputs.read(paths, anonymize, key, not no_companions)
    with console.stage("derive"):
        evidence = pipeline.derive(capture)
    with console.stage("judge"):
        analysis = pipeline.judge(evidence, chosen, ignored, strict=console.settings().debug)
    summary = _render(wanted, evidence, analysis, color=console.colored_results())
    if page is not None and page.to_stdout:
        console.note(summary)
    else:
        console.emit(summary)
    if page is not None:
        with console.stage("page"):
            page.write(evidence, analysis, "" if anonymize else command_line())
    raise typer.Exit(_exit_code(analysis, FailOn.never if wanted is Format.sarif else fail_on))


def _words(values: list[str] | None) -> list[str]:
    """`--select L4S1,L4S301 --select 402` as one list."""
    return [word for value in values or [] for word in value.replace(",", " ").split()]


def _render(wanted: Format, evidence: Evidence, analysis: Analysis, *, color: bool) -> str:
    from importlib import import_module

    from l4strace.output import text

    if wanted is Format.text:
        return text.render(evidence, analysis, color=color, width=console.width())
    rendered: str = import_module(f"l4strace.output.{wanted.value}").render(evidence, analysis)
    return rendered


def _exit_code(analysis: Analysis, fail_on: FailOn) -> int:
    from l4strace.model import Severity

    if fail_on is FailOn.never:
        return 0
    limit = Severity[fail_on.value.upper()]
    return int(any(finding.severity >= limit for finding in analysis.findings))
