"""`--timings`: every second is somewhere."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

from l4strace import timings


@pytest.fixture(autouse=True)
def fresh():
    timings.forget()
    yield
    timings.forget()


def test_parts_belong_to_their_stage_and_the_costliest_are_shown():
    with timings.timed("derive"):
        for number in range(9):
            with timings.timed(f"part{number}"):
                pass
        with timings.timed("slow"):
            until = time.process_time() + 0.02
            while time.process_time() < until:
                pass
    lines = timings.table().splitlines()
    assert lines[1].startswith("derive ")
    assert lines[2].startswith("  slow ")
    assert len(lines) == 2 + timings.PARTS_SHOWN + 2


def test_a_part_in_another_thread_belongs_to_the_stage_whose_context_it_has():
    def part() -> None:
        with timings.timed("part"):
            pass

    with ThreadPoolExecutor(1) as pool, timings.timed("derive"):
        pool.submit(copy_context().run, part).result()
    assert [line.split()[0] for line in timings.table().splitlines()[1:3]] == ["derive", "part"]


def test_a_stage_that_fails_is_timed_and_closed():
    with pytest.raises(ValueError, match="odd"), timings.timed("read"):
        raise ValueError("odd")
    with timings.timed("next"):
        pass
    assert [line.split()[0] for line in timings.table().splitlines()[1:3]] == ["read", "next"]
