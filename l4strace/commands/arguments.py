"""Arguments and completions that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

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


def complete_rules(incomplete: str) -> list[tuple[str, str]]:
    """Codes of rules with their summary."""
    from l4strace.rules import RULES

    return [(r.code, r.summary) for r in RULES if r.code.startswith(incomplete.upper())]


def complete_tables(incomplete: str) -> list[tuple[str, str]]:
    """Names of tables with their sentence."""
    from l4strace.schema import TABLES

    return [(t.name, t.doc) for t in TABLES.values() if t.name.startswith(incomplete)]
