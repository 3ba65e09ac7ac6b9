"""The man page holds what the commands say of themselves."""

import typer.main

from l4strace import cli
from l4strace.commands import manual

GROUP = typer.main.get_command(cli.app)


def page() -> str:
    return manual.page(GROUP, cli.HELP)


def test_every_option_of_every_command_is_there():
    text = page().replace("\\-", "-")
    for command in GROUP.commands.values():
        assert f".SS {command.name}" in text
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert parameter.opts[0] in text


def test_exit_codes_are_there_and_nothing_is_taken_for_markup():
    lines = page().splitlines()
    assert any("130 interrupted" in line for line in lines)
    known = (".TH", ".SH", ".SS", ".TP", ".B", ".BR", ".PP", ".nf", ".fi")
    assert all(line.split()[0] in known for line in lines if line.startswith("."))
