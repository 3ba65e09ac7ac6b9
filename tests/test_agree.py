"""The check that a sweep's rows are those of the diagnosis: it sees what differs."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import polars as pl
import pytest

from l4strace.studies import study
from l4strace.studies.measuring import one_run
from l4strace.studies.planned import Limits, Options, Planned
from l4strace.studies.pool import Pages, Results
from l4strace.studies.sources import discover
from tests.support.places import FIXTURES


def here(todo: list[Planned], options: Options, _limits: Limits, _page: Pages) -> Results:
    """Measures in this process."""
    for planned in todo:
        result = one_run.measure(planned, options)
        result.run["fingerprint"] = planned.fingerprint
        yield result


def test_rows_agree_and_a_changed_one_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(FIXTURES / "lab"))
    agree = importlib.import_module("agree")
    capture = FIXTURES / "accecn-all-ce/sender.pcap.xz"
    (tmp_path / "runs.txt").write_text(f"{capture}\n")
    results = tmp_path / "results"
    order = study.Order((str(tmp_path / "runs.txt"),), str(results), discover.How(), page=False)
    study.sweep(order, here)
    assert agree.compare(results) == 0
    (flows,) = (results / "flows").glob("*.parquet")
    pl.read_parquet(flows).with_columns(losses=pl.lit(99, pl.Int64)).write_parquet(flows)
    assert agree.compare(results) == 1
    assert "losses is 99" in capsys.readouterr().out
    assert sys.modules.pop("agree") is agree
