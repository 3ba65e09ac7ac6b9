"""A rule's docstring as plain data: the same text that `l4strace explain` prints."""

from __future__ import annotations

import re
from typing import NamedTuple

HEADINGS = (
    "What it checks",
    "Why it matters",
    "Evidence",
    "When it is wrong",
    "What to do",
    "References",
)
MARKUP = re.compile(r"(``[^`]+``|`[^`]+`|https://[^\s<>\"')]+)")
URL = re.compile(r"https://[^\s<>\"')]+[^\s<>\"').,;]")


class Run(NamedTuple):
    """A stretch of text; ``kind`` is ``text``, ``code`` or ``link``."""

    kind: str
    text: str


class Passage(NamedTuple):
    """One heading of a rule's page (empty for the lead) and its paragraphs."""

    heading: str
    paragraphs: tuple[tuple[Run, ...], ...]


def passages(doc: str) -> tuple[Passage, ...]:
    """The docstring cut at its fixed headings."""
    found: list[tuple[str, list[str]]] = [("", [""])]
    for line in map(str.strip, doc.splitlines()):
        heading = line.strip("#*: ")
        if heading in HEADINGS:
            found.append((heading, [""]))
        elif not line:
            found[-1][1].append("")
        elif not line.strip("-=~"):
            continue
        elif line.startswith(("- ", "* ")):
            found[-1][1].append(line)
        else:
            found[-1][1][-1] = f"{found[-1][1][-1]} {line}".strip()
    return tuple(
        Passage(heading, paragraphs)
        for heading, texts in found
        if (paragraphs := tuple(runs(text) for text in texts if text))
    )


def runs(text: str) -> tuple[Run, ...]:
    """Text cut into plain text, ``code`` between back quotes, and https links."""
    out: list[Run] = []
    for piece in MARKUP.split(text):
        if not piece:
            continue
        if piece.startswith("`") and piece.endswith("`"):
            out.append(Run("code", piece.strip("`")))
        elif match := URL.match(piece):
            out.append(Run("link", match.group()))
            if rest := piece[match.end() :]:
                out.append(Run("text", rest))
        else:
            out.append(Run("text", piece))
    return tuple(out)
