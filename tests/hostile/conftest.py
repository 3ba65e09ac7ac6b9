"""The fixtures of the commands' tests."""

from tests.commands.conftest import call, sample

__all__ = ["call", "sample"]
