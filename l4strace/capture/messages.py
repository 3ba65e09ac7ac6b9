"""What a recorder may report, checked before anything believes it: a remote host may lie."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

MAX_TEXT_CHARS = 500
"""Characters of one message's text that are shown at most."""
LIST = 100
BIG = 1 << 62


class MessageError(ValueError):
    """A message that is not what the recorder sends."""


def text(value: object) -> str:
    """A text, cut to what fits a few lines."""
    if not isinstance(value, str):
        raise MessageError("not a text")
    return value[:MAX_TEXT_CHARS]


def number(value: object) -> float:
    """A finite number of at most 62 bits."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -BIG < value < BIG:
        raise MessageError("not a number")
    return value


def count(value: object) -> int:
    """A number of something."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < BIG:
        raise MessageError("not a count")
    return value


def maybe(check: Callable[[object], Any]) -> Callable[[object], Any]:
    """Null, or what `check` allows."""
    return lambda value: None if value is None else check(value)


def mapping(check: Callable[[object], Any]) -> Callable[[object], dict[str, Any]]:
    """An object of any keys."""

    def checked(value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise MessageError("not an object")
        return {text(key): check(entry) for key, entry in list(value.items())[:LIST]}

    return checked


def texts(value: object) -> list[str]:
    """A list of texts."""
    if not isinstance(value, list):
        raise MessageError("not a list")
    return [text(entry) for entry in value[:LIST]]


def fields(**known: Callable[[object], Any]) -> Callable[[object], dict[str, Any]]:
    """An object, reduced to its known keys."""

    def checked(value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise MessageError("not an object")
        found = {}
        for name, check in known.items():
            if name in value:
                try:
                    found[name] = check(value[name])
                except MessageError as error:
                    raise MessageError(f"{name} is {error}") from None
        return found

    return checked


STATUS = fields(seconds=number, packets=count, dropped=count, bytes=count, events=count, lost=count)
INTERFACE = fields(received=maybe(count), dropped=maybe(count))
SUMMARY = fields(
    ended=text,
    seconds=number,
    packets=fields(
        packets=count, backend=text, cut_bytes=count, interfaces=mapping(INTERFACE), ended=text
    ),
    kernel=fields(
        source=text,
        events=count,
        lost=count,
        lost_at=mapping(count),
        packed=fields(lines=count, bytes=count),
    ),
    notes=texts,
    died=mapping(text),
    files=mapping(count),
    command_exit=maybe(number),
)
MESSAGE = fields(
    folder=text,
    cannot=text,
    remedy=text,
    told=text,
    ready=bool,
    clock=count,
    status=STATUS,
    summary=SUMMARY,
    file=text,
    size=count,
    end=count,
)
EMPTY: dict[str, Any] = {
    "ended": "error",
    "seconds": 0.0,
    "packets": {},
    "kernel": {},
    "notes": [],
    "died": {},
    "files": {},
    "command_exit": None,
}


def message(line: bytes) -> dict[str, Any] | None:
    """One line of a recorder; None if it is not a JSON object, a login banner for example.

    Raises MessageError for an object with values of the wrong kind.
    """
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    told: dict[str, Any] = MESSAGE(found)
    if "summary" in told:
        told["summary"] = EMPTY | told["summary"]
        told["summary"]["kernel"] = {"source": "none"} | told["summary"]["kernel"]
    return told
