"""Two runs for commands that take several."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def two(tmp_path: Path, fixtures: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Captures of two runs that have nothing to do with each other."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(fixtures / "accecn-bleached" / "sender.pcap.xz", "mon.pcap.xz")
    shutil.copy(fixtures / "accecn-all-ce" / "sender.pcap.xz", "tue.pcap.xz")
    return "mon.pcap.xz", "tue.pcap.xz"
