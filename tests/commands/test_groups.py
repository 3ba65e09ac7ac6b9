"""Options that belong together as one parameter of a command."""

import inspect
from typing import Annotated, NamedTuple

import typer

from l4strace.commands import groups


class Pair(NamedTuple):
    """A group of options as commands share them."""

    first: Annotated[int, typer.Option("--first", help="One.")]
    second: str = "b"


def command(*, before: int = 0, pair: Pair, after: bool = False) -> None:
    """A command that takes the group."""


def test_a_group_of_options_stands_where_its_parameter_is():
    parameters = groups.expanded(command)
    assert [one.name for one in parameters] == ["before", "first", "second", "after"]
    assert parameters[1].default is inspect.Parameter.empty
    assert parameters[1].annotation.__metadata__[0].help == "One."
    assert parameters[2].default == "b"
    values = {"before": 1, "first": 2, "second": "c", "after": True}
    found = groups.gathered(command, values)
    assert found == {"before": 1, "pair": Pair(2, "c"), "after": True}
