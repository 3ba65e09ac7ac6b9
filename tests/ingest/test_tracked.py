"""The captures of a run, tracked before any table is one of polars."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from l4strace.errors import InputError
from l4strace.ingest import tracked


def test_captures_become_tables_and_companions_are_found(fixtures: Path):
    run = fixtures / "accecn-clean"
    found = tracked.track([str(run / "sender.pcap.xz")])
    assert found.inputs.captures == [str(run / "sender.pcap.xz")]
    assert found.inputs.logs_beside == [str(run / "sender.kernel.ndjson.zst")]
    assert pl.DataFrame(found.tables["flows"]).height == 1
    assert not tracked.track([str(run / "sender.pcap.xz")], None, False).inputs.logs_beside


def test_without_a_capture_there_are_no_tables(fixtures: Path):
    log = fixtures / "accecn-clean" / "sender.kernel.ndjson.zst"
    found = tracked.track([str(log)])
    assert (found.inputs.logs, found.tables) == ([str(log)], {})


def test_nothing_but_results_is_refused(tmp_path: Path):
    (tmp_path / "iperf3.json").write_text('{"start": {}}')
    with pytest.raises(InputError, match="no packets"):
        tracked.track([str(tmp_path / "iperf3.json")])


def test_it_needs_no_polars():
    code = "import sys; from l4strace.ingest import tracked; print('polars' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
