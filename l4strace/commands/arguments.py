"""Arguments and options that several commands share, each declared once."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from l4strace import resources

if TYPE_CHECKING:
    from l4strace.ingest.selection import Selection

Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Captures, logs, host files, keys of QUIC; - for standard input.",
    ),
]

NoCompanions = Annotated[
    bool,
    typer.Option(
        "--no-companions",
        help="Read only the named files, not the logs, host files and keys beside them.",
    ),
]

Anonymize = Annotated[
    bool,
    typer.Option(
        "--anonymize",
        help="Work on redacted copies (see l4strace redact): no addresses, names or payload.",
    ),
]

Key = Annotated[
    str,
    typer.Option(
        "--key", metavar="FILE|TEXT",
        help="Key of the redaction; one key maps an address alike in every run. [default: random]",
    ),
]  # fmt: skip


Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", metavar="N", min=1, callback=resources.limit_threads,
        help="Use at most N threads; the output does not change. [default: one per processor]",
    ),
]  # fmt: skip
Flow = Annotated[
    list[int] | None,
    typer.Option(
        "--flow", metavar="N", min=0,
        help="Only flow N, as numbered by `l4strace flows`; may be repeated.",
    ),
]  # fmt: skip
Port = Annotated[
    list[int] | None,
    typer.Option("--port", metavar="PORT", min=0, max=65535,
                 help="Only flows with this port at either end; may be repeated."),
]  # fmt: skip
Host = Annotated[
    list[str] | None,
    typer.Option("--host", metavar="HOST",
                 help="Only flows of this address or network (10.0.0.0/16); may be repeated."),
]  # fmt: skip
Dscp = Annotated[
    list[int] | None,
    typer.Option("--dscp", metavar="N", min=0, max=63,
                 help="Only flows with DSCP N in a direction (45: NQB); may be repeated."),
]  # fmt: skip
From = Annotated[
    float | None,
    typer.Option("--from", metavar="SECONDS", min=0.0,
                 help="Start this many seconds after the first packet (t= in findings)."),
]  # fmt: skip
To = Annotated[
    float | None,
    typer.Option("--to", metavar="SECONDS", min=0.0,
                 help="Stop this many seconds after the first packet (t= in findings)."),
]  # fmt: skip


class Files(NamedTuple):
    """What a command reads."""

    paths: Paths
    anonymize: Anonymize = False
    key: Key = ""
    no_companions: NoCompanions = False

    @property
    def companions(self) -> bool:
        """Whether files beside the captures are also read."""
        return not self.no_companions


class Part(NamedTuple):
    """The part of a run that a command works on."""

    flow: Flow = None
    port: Port = None
    host: Host = None
    dscp: Dscp = None
    from_s: From = None
    to_s: To = None

    def check(self) -> None:
        """Raises UsageError for an impossible selection, before anything is read."""
        if any(self):
            self.selection()

    def selection(self) -> Selection:
        """The options as the `Selection` that the other stages take. Raises UsageError."""
        from l4strace.ingest.selection import Selection

        return Selection.of(self.flow, self.port, self.host, self.dscp, self.from_s, self.to_s)


def words(values: list[str] | None) -> list[str]:
    """`--select L4S1,L4S301 --select 402` as one list."""
    return [word for value in values or [] for word in value.replace(",", " ").split()]


def complete_rules(incomplete: str) -> list[tuple[str, str]]:
    """Codes of rules that begin with ``incomplete``, each with its summary."""
    from l4strace.rules import RULES

    return [(r.code, r.summary) for r in RULES if r.code.startswith(incomplete.upper())]


class Rules(NamedTuple):
    """Which rules a command runs."""

    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select",
            metavar="RULE",
            autocompletion=complete_rules,
            help="Run only these rules: code, prefix (L4S3) or name.",
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore", metavar="RULE", autocompletion=complete_rules, help="Skip these rules."
        ),
    ] = None  # fmt: skip

    def checked(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Words of `--select` and `--ignore`. Raises UsageError for a word that names no rule."""
        chosen, ignored = tuple(words(self.select)), tuple(words(self.ignore))
        if chosen or ignored:
            from l4strace import rules

            rules.select(chosen, ignored)
        return chosen, ignored


class Format(str, Enum):
    """Format of standard output."""

    text = "text"
    json = "json"
    markdown = "markdown"
    sarif = "sarif"
    junit = "junit"


class Printed(NamedTuple):
    """How results are printed on standard output."""

    format: Annotated[Format, typer.Option("--format", "-f", help="Format of standard output.")] = (
        Format.text
    )
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False

    @property
    def form(self) -> Format:
        """The format to print; `--json` wins over `--format`."""
        return Format.json if self.json else self.format


def complete_tables(incomplete: str) -> list[tuple[str, str]]:
    """Names of tables that begin with ``incomplete``, each with its sentence."""
    from l4strace.schema import FOUND, TABLES

    tables = (TABLES | FOUND).values()
    return [(t.name, t.doc) for t in tables if t.name.startswith(incomplete)]
