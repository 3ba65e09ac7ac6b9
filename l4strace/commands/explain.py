"""`l4strace explain`: the manual page of a rule."""

from __future__ import annotations

from typing import Annotated

import typer

from l4strace import console
from l4strace.commands.arguments import complete_rules

NAME_WIDTH = 30
"""The longest name of a rule has 27 characters."""
COLUMNS_FROM = 70
"""Width of a terminal in which a column of names leaves room for what the rules check."""


def explain(
    rule: Annotated[
        str,
        typer.Argument(
            metavar="[RULE]",
            help="Code or name of a rule. [default: list all]",
            autocompletion=complete_rules,
        ),
    ] = "",
) -> None:
    """Explain a rule, or list all rules.

    Prints what the rule checks, why it matters, its evidence, when it is wrong, what to do, and
    references.

    \b
    Examples:
      l4strace explain L4S301
      l4strace explain ecn-bleached
    """
    from l4strace import rules
    from l4strace.wording import wrap

    width = console.width()
    if not rule:
        aligned = width >= COLUMNS_FROM
        names = [f"{r.name:<{NAME_WIDTH}} " if aligned else f"{r.name}:" for r in rules.RULES]
        hanging = " " * len(f"L4S101  {names[0]} " if aligned else "L4S101  ")
        heads = (
            f"{r.code}  {name} {r.summary}" for name, r in zip(names, rules.RULES, strict=True)
        )
        console.emit("\n".join(wrap.listed(head, width, hanging) for head in heads))
        return
    found = rules.find(rule)
    console.emit(f"{found.code} {found.name}\n\n{wrap.page(found.doc, width)}")
