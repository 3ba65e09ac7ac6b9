"""`l4strace explain`: the manual page of a rule."""

from __future__ import annotations

from typing import Annotated

import typer

from l4strace import console
from l4strace.commands.arguments import complete_rules


def explain(
    rule: Annotated[
        str,
        typer.Argument(
            metavar="[RULE]", help="Code or name; all when left out.", autocompletion=complete_rules
        ),
    ] = "",
) -> None:
    """Explain a rule, or list all rules.

    What it checks, why it matters, its evidence, when it is wrong, what to do, references.

    \b
    Examples:
      l4strace explain L4S301
      l4strace explain ecn-bleached
    """
    from l4strace import rules

    if not rule:
        console.emit("\n".join(f"{r.code}  {r.name:<30}  {r.summary}" for r in rules.RULES))
        return
    found = rules.find(rule)
    console.emit(f"{found.code} {found.name}\n\n{found.doc.strip()}")
