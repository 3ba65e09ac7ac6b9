"""`l4strace verify`: agreement is one line, a disagreement is named."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from l4strace import cli
from l4strace.verify import wireshark
from tests.support.files import pcap
from tests.support.wrappings import FRAME

pytestmark = pytest.mark.needs("tshark")


@pytest.fixture
def capture(tmp_path: Path) -> str:
    path = tmp_path / "run.pcap"
    path.write_bytes(pcap([FRAME] * 30))
    return str(path)


def test_agreement_is_one_line(capture: str) -> None:
    result = CliRunner().invoke(cli.app, ["verify", capture, "--count", "10"])
    assert result.exit_code == 0
    assert "10 of 30 TCP packets" in result.stdout
    assert "all equal" in result.stdout


def test_a_disagreement_names_frame_field_and_both_values(
    capture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(packet: Any) -> int:
        return 4711

    monkeypatch.setitem(wireshark.READERS, "window", wrong)
    result = CliRunner().invoke(cli.app, ["verify", capture])
    assert result.exit_code == 1
    assert "frame 1  window: ours 500, Wireshark 4711" in result.stdout
