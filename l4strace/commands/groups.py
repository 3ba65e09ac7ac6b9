"""Options that belong together as one parameter of a command: a dataclass of `arguments`.

Typer wants a parameter for each option: it gets the fields, the command their dataclass.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any, get_type_hints


def expanded(function: Any) -> list[inspect.Parameter]:
    """Parameters of a command, with the fields of a dataclass in place of one of that type."""
    found: list[inspect.Parameter] = []
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        group = parameter.annotation
        found += _fields(group) if dataclasses.is_dataclass(group) else [parameter]
    return found


def _fields(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in dataclasses.fields(group):
        missing = field.default is dataclasses.MISSING
        default = inspect.Parameter.empty if missing else field.default
        kind = inspect.Parameter.KEYWORD_ONLY
        yield inspect.Parameter(field.name, kind, default=default, annotation=hints[field.name])


def gathered(function: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a command from those of its `expanded` parameters."""
    found: dict[str, Any] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        group = parameter.annotation
        if dataclasses.is_dataclass(group):
            fields = dataclasses.fields(group)
            found[parameter.name] = group(**{field.name: values[field.name] for field in fields})  # type: ignore[operator]
        else:
            found[parameter.name] = values[parameter.name]
    return found
