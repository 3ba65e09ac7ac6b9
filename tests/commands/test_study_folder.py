"""`figures` and `export` of the results of a sweep."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.support.sweeps import ROWS


def test_figures_and_tables_from_the_command_line(call, tmp_path: Path):
    (tmp_path / "study.csv").write_text(ROWS)
    assert call("sweep", "study.csv", "-o", "kept", "-q").exit_code == 0
    done = call("figures", "kept", "-o", "paper", "-m", "l4s_share", "--each", "aqm")
    assert done.stdout == "paper/l4s_share.svg\n"
    assert Path("paper/l4s_share.svg").read_text().startswith("<svg")
    written = call("figures", "kept", "-o", "paper").stdout.split()
    assert "paper/utilization.svg" in written
    assert call("export", "measures", "kept", "-o", "m.csv").exit_code == 0
    frame = pl.read_csv("m.csv")
    assert {"run", "p_aqm", "p_rate", "name", "value", "unit"} <= set(frame.columns)
    assert call("export", "rounds", "kept").exception is not None
    Path("paper/l4s_share.svg").write_text("mine")
    assert call("figures", "kept", "-o", "paper").exception is not None
