"""Parameters that the names of runs carry: `--name '{cca}-vs-{rival}-{aqm}-{rtt:ms}'`."""

from __future__ import annotations

import re
from collections.abc import Callable

from l4strace.errors import UsageError
from l4strace.studies.parameters import Value, number

L4S = re.compile(r"prague|l4s|dctcp|scalable", re.IGNORECASE)
"""Names of congestion controls and flows that are scalable."""
FLENT = ".flent"
"""Ending of flent's data files, which are logs and results at once."""

FIELD = re.compile(r"\{(\w+)(?::([^{}]*))?\}")
EXAMPLE = "Example: --name '{cca}-vs-{rival}-{aqm}-{rtt:ms}'."


def pattern(text: str) -> Callable[[str], dict[str, Value] | None]:
    """A function from the name of a run to its parameters; null where the name does not fit.

    `{rtt:ms}` is a number before the letters `ms`; `{aqm}` any text without a slash, as short as
    the rest allows; `*` any text. Upper and lower case of units do not matter. Raises UsageError.
    """
    units: dict[str, str | None] = {}
    parts, last = [], 0
    for field in FIELD.finditer(text):
        name, unit = field.groups()
        if name in units:
            raise UsageError(f"--name {text!r} has {{{name}}} twice", EXAMPLE)
        units[name] = unit
        value = "[^/]+?" if unit is None else rf"-?\d+(?:\.\d+)?(?=(?i:{re.escape(unit)}))"
        literal = _literal(text[last : field.start()])
        parts.append(f"{literal}(?P<{name}>{value})(?i:{re.escape(unit or '')})")
        last = field.end()
    if not units:
        raise UsageError(f"--name {text!r} names no parameter", EXAMPLE)
    fitting = re.compile("".join(parts) + _literal(text[last:]))
    return lambda name: _parameters(fitting, name)


def _literal(text: str) -> str:
    return ".*?".join(map(re.escape, text.split("*")))


def _parameters(fitting: re.Pattern[str], name: str) -> dict[str, Value] | None:
    """Parameters in ``name`` as a whole, else in its last part."""
    last = name.rpartition("/")[2]
    found = fitting.fullmatch(name) or fitting.fullmatch(last)
    if found is None:
        return None
    return {key: number(text) for key, text in found.groupdict().items()}
