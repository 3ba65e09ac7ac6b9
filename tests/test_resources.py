"""`--threads`: at most so many, and the same output. `--timings`: every second is somewhere."""

import json
import os
import random
import subprocess
import sys
import threading
import time

import polars as pl
import pytest

from l4strace import resources
from l4strace.core import _native
from tests.support.bench import shapes, workloads
from tests.support.bench.records import RECORD, records
from tests.support.places import FIXTURES

SAMPLE = FIXTURES / "misfire" / "misfire.pcap.xz"
PACKETS = 50_000
MADE_BY_ONE = 1 << 16
"""As SMALL in native/src/python/tables/mod.rs."""


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    resources.forget_timings()
    yield
    resources.forget_timings()
    resources.limit_threads(None)
    os.environ.pop("POLARS_MAX_THREADS", None)


def test_the_limit_is_that_of_polars_too():
    assert resources.most_threads() is None
    resources.limit_threads(3)
    assert (resources.most_threads(), os.environ["POLARS_MAX_THREADS"]) == (3, "3")


@pytest.mark.parametrize(("processors", "useful"), [(2, 16), (64, 64)])
def test_more_than_can_be_at_work_are_not_started(monkeypatch, processors, useful):
    monkeypatch.setattr(resources, "_processors", lambda: processors)
    resources.limit_threads(100_000)
    assert (resources.most_threads(), os.environ["POLARS_MAX_THREADS"]) == (useful, str(useful))


def test_polars_gets_one_thread_and_the_tracker_all():
    resources.one_thread_of_polars()
    assert (resources.most_threads(), os.environ["POLARS_MAX_THREADS"]) == (None, "1")


def test_a_stated_number_holds_for_both():
    resources.limit_threads(2)
    resources.one_thread_of_polars()
    assert (resources.most_threads(), os.environ["POLARS_MAX_THREADS"]) == (2, "2")


@pytest.mark.parametrize("command", [["diagnose", "--no-html"], ["flows"], ["figures", "-o."]])
def test_a_command_decides_before_polars_is_imported(command, tmp_path):
    code = (
        f"import sys; sys.argv = ['l4strace', *{command}, {str(SAMPLE)!r}]\n"
        "from l4strace.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "import polars; sys.exit(polars.thread_pool_size() != 1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, capture_output=True)


def test_queries_run_in_memory_unless_the_environment_says_otherwise(monkeypatch):
    monkeypatch.delenv(resources.ENGINE, raising=False)
    resources.query_in_memory()
    assert os.environ[resources.ENGINE] == "in-memory"
    monkeypatch.setenv(resources.ENGINE, "streaming")
    resources.query_in_memory()
    assert os.environ[resources.ENGINE] == "streaming"


def tables(path, count):
    found = _native.track([str(path)], None, count)
    return {name: pl.DataFrame(table) for name, table in found.items()}


def assert_the_same_on_any_number(path):
    alone = tables(path, 1)
    # Smaller captures are tracked before other threads would be there.
    assert alone["sources"]["tcp_packets"][0] > 1 << 15
    for count in (2, 16):
        several = tables(path, count)
        assert alone.keys() == several.keys()
        for name, frame in alone.items():
            assert frame.equals(several[name]), f"{name}, {count} threads"


def test_tables_do_not_depend_on_the_threads():
    assert_the_same_on_any_number(SAMPLE)


@pytest.mark.parametrize("shape", ["short flows", "mix", "one flow"])
def test_nor_do_those_of_other_shapes(shape, tmp_path):
    """Many conversations, whose packets wait for each other; datagrams between; one flow."""
    clean = workloads.captured("accecn-clean/sender.pcap.xz")
    path = tmp_path / "shape.pcap"
    if shape == "short flows":
        shapes.repeated(workloads.cut(clean, workloads.SHORT), PACKETS, path)
    elif shape == "mix":
        shapes.repeated(shapes.mixed(workloads.cut(clean, 2000)), PACKETS, path)
    else:
        shapes.continued(workloads.cut(clean, 20_000), PACKETS, path)
    assert_the_same_on_any_number(path)


def test_nor_do_tables_that_several_threads_make(tmp_path):
    path = tmp_path / "large.pcap"
    clean = workloads.captured("accecn-clean/sender.pcap.xz")
    shapes.repeated(workloads.cut(clean, 30), 700_000, path)
    found = tables(path, 1)
    assert found["flows"].height + found["rounds"].height > MADE_BY_ONE
    assert_the_same_on_any_number(path)


@pytest.mark.parametrize("seed", range(3))
def test_nor_those_of_damaged_packets(seed, tmp_path):
    """Bytes of one packet in twenty are others, and the file breaks off inside a record."""
    data = bytearray(workloads.captured("misfire/misfire.pcap.xz"))
    found = list(records(data))
    chance = random.Random(seed)
    for record in chance.sample(found, len(found) // 20):
        data[chance.randrange(record.start + RECORD, record.end)] = chance.randrange(256)
    path = tmp_path / "damaged.pcap"
    path.write_bytes(data[: -chance.randrange(1, 60)])
    assert_the_same_on_any_number(path)


def test_findings_do_not_depend_on_the_threads():
    """Of polars, too, whose sums could come in another order."""
    command = [sys.executable, "-m", "l4strace", "diagnose", str(SAMPLE), "--json"]
    answers = [
        subprocess.run([*command, "--threads", str(count)], capture_output=True, check=False)
        for count in (1, 2, 16)
    ]
    assert json.loads(answers[0].stdout)["findings"]
    assert answers[0].stdout == answers[1].stdout == answers[2].stdout


def test_a_second_thread_is_to_spare_for_large_files_only(monkeypatch, tmp_path):
    file = tmp_path / "file.pcap"
    file.write_bytes(b"x" * 100)
    monkeypatch.setattr(resources, "QUICK_BYTES", 50)
    monkeypatch.setattr(resources, "_processors", lambda: 2)
    assert resources.spare([str(file)])
    resources.limit_threads(1)
    assert not resources.spare([str(file)])
    resources.limit_threads(None)
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    monkeypatch.setattr(resources, "QUICK_BYTES", 100)
    assert not resources.spare([str(file)])
    monkeypatch.setattr(resources, "QUICK_BYTES", 50)
    monkeypatch.setattr(resources, "_processors", lambda: 1)
    assert not resources.spare([str(file)])


@pytest.mark.parametrize(
    ("processors", "stated", "ahead"),
    [(1, None, 0), (2, None, 2), (64, None, 4), (64, 1, 0), (64, 2, 1), (2, 64, 2)],
)
def test_some_items_ahead_in_their_order(monkeypatch, processors, stated, ahead):
    """The caller's thread is one of those that were stated."""
    monkeypatch.setattr(resources, "_processors", lambda: processors)
    monkeypatch.setattr(resources, "most_threads", lambda: stated)
    asked = []

    def items():
        for item in range(8):
            asked.append(item)
            yield item

    made = resources.ahead(lambda item: item * item, items())
    assert next(made) == 0
    assert asked == list(range(1 + ahead))
    assert list(made) == [item * item for item in range(1, 8)]
    assert list(resources.ahead(str, [])) == []


def test_what_fails_ahead_fails_in_its_turn(monkeypatch):
    monkeypatch.setattr(resources, "_processors", lambda: 2)
    made = resources.ahead(lambda item: 1 // item, [1, 0, 1])
    assert next(made) == 1
    with pytest.raises(ZeroDivisionError):
        next(made)


@pytest.mark.parametrize("processors", [1, 2])
def test_items_are_made_beforehand_in_their_order(monkeypatch, processors):
    monkeypatch.setattr(resources, "_processors", lambda: processors)
    makers = set()

    def items():
        for item in range(5):
            makers.add(threading.get_ident())
            yield item
        raise ValueError("at its end")

    made = resources.beforehand(items())
    assert [next(made) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="at its end"):
        next(made)
    assert (makers == {threading.get_ident()}) is (processors == 1)
    assert list(resources.beforehand([])) == []


def test_parts_belong_to_their_stage_and_the_costliest_are_shown():
    with resources.timed("derive"):
        for number in range(9):
            with resources.timed(f"part{number}"):
                pass
        with resources.timed("slow"):
            until = time.process_time() + 0.02
            while time.process_time() < until:
                pass
    lines = resources.timings().splitlines()
    assert lines[1].startswith("derive ")
    assert lines[2].startswith("  slow ")
    assert len(lines) == 2 + resources.PARTS_SHOWN + 2


def test_a_stage_that_fails_is_timed_and_closed():
    with pytest.raises(ValueError, match="odd"), resources.timed("read"):
        raise ValueError("odd")
    with resources.timed("next"):
        pass
    assert [line.split()[0] for line in resources.timings().splitlines()[1:3]] == ["read", "next"]
