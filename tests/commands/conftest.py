"""Commands run in this process, in an empty folder, on a copy of a small sample."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from l4strace import cli

Call = Callable[..., Result]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """`call("flows", "run.pcap.xz")`: the result; our own errors are its `exception`."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(cli.app, [str(word) for word in words])


@pytest.fixture
def sample(tmp_path: Path, fixtures: Path) -> Path:
    """A path that bleaches ECN, as its sender saw it."""
    source = fixtures / "accecn-bleached" / "sender.pcap.xz"
    return Path(shutil.copy(source, tmp_path / "run.pcap.xz"))


@pytest.fixture
def two(tmp_path: Path, fixtures: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Captures of two runs that have nothing to do with each other."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(fixtures / "accecn-bleached" / "sender.pcap.xz", "mon.pcap.xz")
    shutil.copy(fixtures / "accecn-all-ce" / "sender.pcap.xz", "tue.pcap.xz")
    return "mon.pcap.xz", "tue.pcap.xz"
