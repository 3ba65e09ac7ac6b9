"""The man page holds what the commands say of themselves."""

from pathlib import Path

import typer.main

from l4strace import cli, manual

SHIPPED = Path(__file__).resolve().parent.parent / "l4strace.1"


def test_the_shipped_page_is_the_generated_one():
    assert SHIPPED.read_text() == manual.page(), "python -m l4strace.manual > l4strace.1"


def test_every_option_of_every_command_is_there():
    page = manual.page().replace("\\-", "-")
    group = typer.main.get_command(cli.app)
    for command in group.commands.values():
        assert f".SS {command.name}" in page
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert parameter.opts[0] in page


def test_exit_codes_are_there_and_nothing_is_taken_for_markup():
    lines = manual.page().splitlines()
    assert any("130 interrupted" in line for line in lines)
    known = (".TH", ".SH", ".SS", ".TP", ".B", ".BR", ".PP", ".nf", ".fi")
    assert all(line.split()[0] in known for line in lines if line.startswith("."))
