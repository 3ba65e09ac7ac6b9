"""Arguments and completions that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from l4strace import threads

Paths = Annotated[
    list[str],
    typer.Argument(metavar="FILE", help="Captures, kernel logs, host files; - for standard input."),
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


def words(values: list[str] | None) -> list[str]:
    """`--select L4S1,L4S301 --select 402` as one list."""
    return [word for value in values or [] for word in value.replace(",", " ").split()]


def complete_rules(incomplete: str) -> list[tuple[str, str]]:
    """Codes of rules with their summary."""
    from l4strace.rules import RULES

    return [(r.code, r.summary) for r in RULES if r.code.startswith(incomplete.upper())]


def complete_tables(incomplete: str) -> list[tuple[str, str]]:
    """Names of tables with their sentence."""
    from l4strace.schema import FOUND, TABLES

    tables = (TABLES | FOUND).values()
    return [(t.name, t.doc) for t in tables if t.name.startswith(incomplete)]
