"""`--threads`: at most so many, and the same output."""

import os
import subprocess
import sys

import polars as pl
import pytest

from l4strace import _native, threads
from tests.support.places import FIXTURES

SAMPLE = FIXTURES / "misfire" / "misfire.pcap.xz"


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    monkeypatch.setattr(threads, "_small", False)
    yield
    threads.limit(None)
    os.environ.pop("POLARS_MAX_THREADS", None)


def test_the_limit_is_that_of_polars_too(monkeypatch):
    assert threads.most() is None
    threads.limit(3)
    assert (threads.most(), os.environ["POLARS_MAX_THREADS"]) == (3, "3")
    threads.limit(None)
    monkeypatch.setenv("POLARS_MAX_THREADS", "1")
    assert threads.most() == 1
    monkeypatch.setenv("POLARS_MAX_THREADS", "many")
    assert threads.most() is None


def test_small_files_get_one_thread_of_polars_and_all_of_the_tracker(monkeypatch, tmp_path):
    small = tmp_path / "small.pcap"
    small.write_bytes(b"x" * 100)
    monkeypatch.setattr(threads, "SMALL_BYTES", 250)
    threads.suit([str(small)] * 2)
    assert (threads.most(), os.environ["POLARS_MAX_THREADS"]) == (None, "1")


def test_large_files_and_pipes_do_not(monkeypatch, tmp_path):
    file, pipe = tmp_path / "file.pcap", tmp_path / "pipe.pcap"
    file.write_bytes(b"x" * 100)
    os.mkfifo(pipe)
    monkeypatch.setattr(threads, "SMALL_BYTES", 250)
    for paths in ([file] * 3, [file, pipe], [file, tmp_path / "missing.pcap"], ["-"]):
        threads.suit([str(path) for path in paths])
        assert "POLARS_MAX_THREADS" not in os.environ


def test_a_stated_number_wins_over_the_size(tmp_path):
    threads.limit(2)
    threads.suit([str(SAMPLE)])
    assert (threads.most(), os.environ["POLARS_MAX_THREADS"]) == (2, "2")


@pytest.mark.parametrize("command", ["diagnose", "flows"])
def test_a_command_decides_before_polars_is_imported(command):
    after = (
        f"from l4strace.commands import {command}; import sys; assert 'polars' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", f"import l4strace.cli; {after}"], check=True)


def test_tables_do_not_depend_on_the_threads():
    def tables(count):
        found = _native.track([str(SAMPLE)], None, count)
        return {name: pl.DataFrame(table) for name, table in found.items()}

    alone, several = tables(1), tables(3)
    # Smaller captures are tracked before other threads would be there.
    assert alone["sources"]["tcp_packets"][0] > 1 << 15
    assert all(frame.equals(several[name]) for name, frame in alone.items())
    assert alone.keys() == several.keys()
