"""Options that several commands share."""

import inspect
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer

from l4strace.commands import arguments
from l4strace.errors import UsageError


def test_every_command_selects_alike(call, fixtures: Path):
    sample = fixtures / "misfire" / "misfire.pcap.xz"
    words = (sample, "--no-companions", "--port", "5202", "--from", "2", "--to", "4")
    flows = json.loads(call("flows", *words, "--json").stdout)["flows"]
    diagnosed = json.loads(call("diagnose", *words, "--json").stdout)
    # Flow 2 is over by then.
    assert {flow["flow"] for flow in flows} == {3}
    assert diagnosed["flows"] == flows
    assert {finding["flow"] for finding in diagnosed["findings"]} <= {None, 3}
    packets = call("export", "packets", *words).stdout.splitlines()
    rounds = call("export", "rounds", *words).stdout.splitlines()
    assert {line.split(",")[6] for line in packets[1:]} == {"3"}
    assert {line.split(",")[1] for line in rounds[1:]} == {"3"}


@pytest.mark.parametrize("command", [("diagnose",), ("flows",), ("export", "rounds")])
def test_a_selection_without_flows_is_refused(call, sample: Path, command: tuple[str, ...]):
    result = call(*command, sample, "--port", "9")
    assert isinstance(result.exception, UsageError)
    assert list(sample.parent.glob("*.html")) == []


@dataclass(frozen=True)
class Pair:
    """A group of options as commands share them."""

    first: Annotated[int, typer.Option("--first", help="One.")]
    second: str = "b"


def command(*, before: int = 0, pair: Pair, after: bool = False) -> None:
    """A command that takes the group."""


def test_a_group_of_options_stands_where_its_parameter_is():
    parameters = arguments.expanded(command)
    assert [one.name for one in parameters] == ["before", "first", "second", "after"]
    assert parameters[1].default is inspect.Parameter.empty
    assert parameters[1].annotation.__metadata__[0].help == "One."
    assert parameters[2].default == "b"
    values = {"before": 1, "first": 2, "second": "c", "after": True}
    found = arguments.gathered(command, values)
    assert found == {"before": 1, "pair": Pair(2, "c"), "after": True}
