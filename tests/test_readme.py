"""The README is short and names what there is; `tests/docs` executes what it shows."""

from l4strace import cli, rules
from tests.support import pages


def test_it_fits_on_three_screens():
    assert len(pages.text("README.md").splitlines()) <= 150


def test_every_command_and_family_is_named():
    usage = pages.text("docs/usage.md")
    for command in cli.COMMANDS:
        assert f"`{command} " in usage or f"`{command}`" in usage
    for digit in rules.FAMILIES:
        assert f"L4S{digit}xx" in usage
