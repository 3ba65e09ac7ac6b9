"""Options that belong together as one parameter of a command: a named tuple of `arguments`.

Typer wants a parameter for each option: it gets the fields, the command their tuple.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any, get_type_hints


def expanded(function: Any) -> list[inspect.Parameter]:
    """Parameters of a command, with the fields of a group in place of one of that type."""
    found: list[inspect.Parameter] = []
    for parameter in _parameters(function):
        group = parameter.annotation
        found += _fields(group) if _is_group(group) else [parameter]
    return found


@functools.cache
def _parameters(function: Any) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(function, eval_str=True).parameters.values())


def _is_group(annotation: Any) -> bool:
    return isinstance(annotation, type) and hasattr(annotation, "_field_defaults")


def _fields(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for name in group._fields:
        default = group._field_defaults.get(name, inspect.Parameter.empty)
        kind = inspect.Parameter.KEYWORD_ONLY
        yield inspect.Parameter(name, kind, default=default, annotation=hints[name])


def gathered(function: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a command from those of its `expanded` parameters."""
    found: dict[str, Any] = {}
    for parameter in _parameters(function):
        group = parameter.annotation
        if _is_group(group):
            found[parameter.name] = group(**{name: values[name] for name in group._fields})
        else:
            found[parameter.name] = values[parameter.name]
    return found
