"""The man page, made from the commands' own help by `make docs`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

SUBJECT = "diagnose L4S, TCP Prague and Accurate ECN from captures and kernel logs"


def page(group: Any, description: str) -> str:
    """The page in man(7) markup; ``group`` is the click group of all commands."""
    lines = [
        '.TH L4STRACE 1 "" "l4strace" "User Commands"',
        ".SH NAME",
        f"l4strace \\- {SUBJECT}",
        ".SH SYNOPSIS",
        ".B l4strace",
        "COMMAND [OPTIONS] FILE...",
        ".SH DESCRIPTION",
        *_paragraphs(description),
        ".SH COMMANDS",
    ]
    for command in group.commands.values():
        lines += _command(command)
    lines += [".SH SEE ALSO", ".BR tcpdump (1),", ".BR ss (8),", ".BR tc (8)"]
    return "\n".join(lines) + "\n"


def _command(command: Any) -> Iterator[str]:
    """One command: its help, then its options."""
    yield f".SS {command.name}"
    yield from _paragraphs(command.help or "")
    for parameter in command.params:
        if parameter.param_type_name == "option" and not parameter.hidden:
            names = ", ".join([*parameter.opts, *parameter.secondary_opts])
            yield ".TP"
            yield f".B {_plain(names)}"
            yield _plain(parameter.help or "")


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs filled, those after a backspace mark line by line as they stand."""
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        verbatim = "\b" in block
        lines = [line.replace("\b", "").strip() for line in block.splitlines()]
        yield ".nf" if verbatim else ".PP"
        yield from (_plain(line) for line in lines if line)
        if verbatim:
            yield ".fi"


def _plain(text: str) -> str:
    """``text`` without meaning to troff."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain[:1] in (".", "'") else plain
