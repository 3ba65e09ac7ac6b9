"""Arguments and options that several commands share, each declared once."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from l4strace import threads

if TYPE_CHECKING:
    from l4strace.selection import Selection

Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...", help="Captures, kernel logs, host files; - for standard input."
    ),
]

NoCompanions = Annotated[
    bool,
    typer.Option(
        "--no-companions", help="Read only the files that are named, nothing beside them."
    ),
]

Anonymize = Annotated[
    bool,
    typer.Option(
        "--anonymize",
        help="Read redacted copies (see l4strace redact): no addresses, names or payload.",
    ),
]

Key = Annotated[
    str,
    typer.Option(
        "--key", metavar="FILE|TEXT",
        help="The same key maps addresses and names alike in every run. [default: random]",
    ),
]  # fmt: skip


Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", metavar="N", min=1, callback=threads.limit,
        help="At most so many threads; the output is the same. [default: one a processor]",
    ),
]  # fmt: skip
Flow = Annotated[
    list[int] | None,
    typer.Option(
        "--flow", metavar="N", min=0,
        help="Only this flow, by its number in `flows`; may be repeated.",
    ),
]  # fmt: skip
Port = Annotated[
    list[int] | None,
    typer.Option("--port", metavar="PORT", min=0, max=65535,
                 help="Only flows with this port; may be repeated."),
]  # fmt: skip
Host = Annotated[
    list[str] | None,
    typer.Option("--host", metavar="HOST",
                 help="Only flows of this address or network (10.0.0.0/16); may be repeated."),
]  # fmt: skip
From = Annotated[
    float | None,
    typer.Option("--from", metavar="SECONDS", min=0.0,
                 help="Begin here, in seconds since the first packet, like t= of findings."),
]  # fmt: skip
To = Annotated[
    float | None,
    typer.Option("--to", metavar="SECONDS", min=0.0, help="End here, likewise."),
]  # fmt: skip


class Files(NamedTuple):
    """What a command reads."""

    paths: Paths
    anonymize: Anonymize = False
    key: Key = ""
    no_companions: NoCompanions = False

    @property
    def companions(self) -> bool:
        """Whether files beside the captures are read, too."""
        return not self.no_companions


class Part(NamedTuple):
    """The part of a run that a command is about."""

    flow: Flow = None
    port: Port = None
    host: Host = None
    from_s: From = None
    to_s: To = None

    def check(self) -> None:
        """Raises UsageError where no part can be what was asked for, before anything is read."""
        if any(self):
            self.selection()

    def selection(self) -> Selection:
        """As the other stages take it. Raises UsageError."""
        from l4strace.selection import Selection

        return Selection.of(self.flow, self.port, self.host, self.from_s, self.to_s)


def words(values: list[str] | None) -> list[str]:
    """`--select L4S1,L4S301 --select 402` as one list."""
    return [word for value in values or [] for word in value.replace(",", " ").split()]


def complete_rules(incomplete: str) -> list[tuple[str, str]]:
    """Codes of rules with their summary."""
    from l4strace.rules import RULES

    return [(r.code, r.summary) for r in RULES if r.code.startswith(incomplete.upper())]


class Rules(NamedTuple):
    """The rules that a command asks."""

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
        """Words of `--select` and of `--ignore`. Raises UsageError for one that names no rule."""
        chosen, ignored = tuple(words(self.select)), tuple(words(self.ignore))
        if chosen or ignored:
            from l4strace import rules

            rules.select(chosen, ignored)
        return chosen, ignored


class Format(str, Enum):
    """What goes to standard output."""

    text = "text"
    json = "json"
    markdown = "markdown"
    sarif = "sarif"
    junit = "junit"


class Printed(NamedTuple):
    """The form of what goes to standard output."""

    format: Annotated[
        Format, typer.Option("--format", "-f", help="What to print on standard output.")
    ] = Format.text
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False

    @property
    def form(self) -> Format:
        """`--json` wins."""
        return Format.json if self.json else self.format


def complete_tables(incomplete: str) -> list[tuple[str, str]]:
    """Names of tables with their sentence."""
    from l4strace.schema import FOUND, TABLES

    tables = (TABLES | FOUND).values()
    return [(t.name, t.doc) for t in tables if t.name.startswith(incomplete)]
