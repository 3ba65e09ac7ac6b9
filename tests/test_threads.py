"""`--threads`: at most so many, and the same output."""

import os

import polars as pl
import pytest

from l4strace import _native, threads
from tests.support.places import FIXTURES

SAMPLE = FIXTURES / "misfire" / "misfire.pcap.xz"


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
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


def test_tables_do_not_depend_on_the_threads():
    def tables(count):
        found = _native.track([str(SAMPLE)], None, count)
        return {name: pl.DataFrame(table) for name, table in found.items()}

    alone, several = tables(1), tables(3)
    # Smaller captures are tracked before other threads would be there.
    assert alone["sources"]["tcp_packets"][0] > 1 << 15
    assert all(frame.equals(several[name]) for name, frame in alone.items())
    assert alone.keys() == several.keys()
