"""Text in lines of the terminal's width; no line ends within a path or before a unit."""

from __future__ import annotations

import re
import textwrap

from l4strace.console import printable

WIDTH = 80
"""Columns where nobody knows better: a pipe, a file."""

UNIT = re.compile(r"(?<=\d) (?=(?:[kMG]?bit/s|[kMG]?B|[munµ]?s|%)(?!\w))")
"""The gap between a number and its unit."""

GLUE = "\N{NO-BREAK SPACE}"
"""Stands for a space at which no line may end."""


def wrapped(text: str, width: int = WIDTH, indent: str = "", first: str | None = None) -> str:
    """One paragraph; ``indent`` before each line, ``first`` before the first one instead.

    A word longer than a line stands on a line of its own. Control characters are made visible.
    """
    shown = GLUE.join(map(printable, text.split(GLUE)))
    lines = textwrap.fill(
        UNIT.sub(GLUE, shown),
        width,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return lines.replace(GLUE, " ")


def whole(name: str) -> str:
    """``name`` as one word for `wrapped`, whatever spaces it has: a path, a filter."""
    return name.replace(" ", GLUE)


def listed(text: str, width: int, hanging: str) -> str:
    """One entry of a list with aligned columns: it stays as it is as far as it fits."""
    if len(text) <= width:
        return printable(text)
    kept = re.sub(r" {2,}", lambda gap: GLUE * len(gap[0]), text)
    return wrapped(kept, width, hanging, "")


def page(text: str, width: int = WIDTH) -> str:
    """Paragraphs filled anew; headings and their underlines, list items and blank lines stay."""
    blocks = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join("\n".join(_lines(block.splitlines(), width)) for block in blocks)


def _lines(block: list[str], width: int) -> list[str]:
    """One block: underlined headings as they are, items with a hanging indent, the rest filled."""
    out: list[str] = []
    pending: list[str] = []

    def flush() -> None:
        if pending:
            hanging = "  " if pending[0].startswith(("- ", "* ")) else ""
            out.append(wrapped(" ".join(pending), width, hanging, ""))
            pending.clear()

    for line in (line.strip() for line in block):
        if line and set(line) <= set("-=~"):
            out.append("\n".join([*pending, line]))
            pending.clear()
            continue
        if line.startswith(("- ", "* ")):
            flush()
        pending.append(line)
    flush()
    return out
