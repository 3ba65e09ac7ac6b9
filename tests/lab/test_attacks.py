"""Recorded attacks on the readers of logs: their truth, or one clear line."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from l4strace import cli
from l4strace.ingest.logs import open_log


@pytest.mark.parametrize(("name", "lines"), [("nlj", 3), ("ab", 2)])
def test_one_line_a_flow_and_no_width_from_the_header(shared_data: Path, name: str, lines: int):
    log = shared_data / "attacks" / f"{name}.ndjson.xz"
    shown = CliRunner().invoke(cli.app, ["flows", str(log)]).stdout.splitlines()
    assert len(shown) == lines
    assert not any(line.startswith("Nothing wrong") for line in shown)
    assert open_log.read(str(log)).alpha_bits is None
    assert CliRunner().invoke(cli.app, ["diagnose", str(log), "--no-html"]).exit_code == 0
