"""Each command of the recipes exists with the options that they use."""

import re
import shlex

import pytest
import typer.main

from l4strace import cli
from tests.support.places import REPOSITORY

RECIPES = (REPOSITORY / "docs" / "recipes.md").read_text(encoding="utf-8")
CALLS = re.findall(r"^(?:address=.*)?l4strace (\w+) (.*)$", RECIPES, re.MULTILINE)


def test_there_are_calls():
    assert {command for command, _ in CALLS} == {"sweep", "compare"}
    assert len(CALLS) >= 8


@pytest.mark.parametrize(("command", "words"), CALLS)
def test_a_call_is_understood(command: str, words: str):
    known = typer.main.get_command(cli.app).commands[command]  # type: ignore[attr-defined]
    context = known.make_context(command, shlex.split(words), resilient_parsing=False)
    assert context.params["sources"]
