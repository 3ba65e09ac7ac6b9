"""A rule's docstring as plain data: the same text that `l4strace explain` prints."""

from __future__ import annotations

import re
from dataclasses import dataclass
from inspect import cleandoc

HEADINGS = (
    "What it checks",
    "Why it matters",
    "Evidence",
    "When it is wrong",
    "What to do",
    "References",
)
URL = re.compile(r"https://[^\s<>\"')]+[^\s<>\"').,;]")


@dataclass(frozen=True)
class Run:
    """A stretch of text; ``kind`` is ``text``, ``code`` or ``link``."""

    kind: str
    text: str


@dataclass(frozen=True)
class Passage:
    """One heading of a rule's page (empty for the lead) and its paragraphs."""

    heading: str
    paragraphs: tuple[tuple[Run, ...], ...]


def passages(doc: str) -> tuple[Passage, ...]:
    """The docstring cut at its fixed headings."""
    found: list[tuple[str, list[str]]] = [("", [""])]
    for line in cleandoc(doc).splitlines():
        heading = line.strip().strip("#*: ").rstrip(":")
        if heading in HEADINGS:
            found.append((heading, [""]))
        elif set(line.strip()) <= set("-=~") and line.strip():
            continue
        elif not line.strip():
            found[-1][1].append("")
        elif line.lstrip().startswith(("- ", "* ")):
            found[-1][1].append(line.strip())
        else:
            found[-1][1][-1] = f"{found[-1][1][-1]} {line.strip()}".strip()
    return tuple(
        Passage(heading, paragraphs)
        for heading, texts in found
        if (paragraphs := tuple(runs(text) for text in texts if text))
    )


def runs(text: str) -> tuple[Run, ...]:
    """Text cut into plain text, ``code`` between back quotes, and https links."""
    out: list[Run] = []
    for piece in re.split(r"(``[^`]+``|`[^`]+`|https://[^\s<>\"')]+)", text):
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
