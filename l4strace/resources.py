"""What the work on a run takes: how many threads do it, and where its time goes (`--timings`).

Threads are those that track packets or read logs, and those of polars. Nothing that l4strace finds
depends on their number. Timings are of stages and of the costliest parts of each.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

A = TypeVar("A")
B = TypeVar("B")

OF_POLARS = "POLARS_MAX_THREADS"
"""Environment variable that polars reads once, when it is first imported."""

ENGINE = "POLARS_ENGINE_AFFINITY"
"""Environment variable that selects the engine with which polars runs lazy queries."""

QUICK_BYTES = 16 << 20
"""Inputs that are read sooner than a second thread gains by other work."""

MOST_AHEAD = 4
"""Items that are worked on at a time: each is held in memory."""

MOST_STARTED = 16
"""Threads that are started at most, unless there are more processors."""

PARTS_SHOWN = 5
"""Parts of a stage that `timings` lists."""

_most: int | None = None


def limit_threads(most: int | None) -> None:
    """Allows at most ``most`` threads from now on; None: one per processor.

    Polars asks once, when it is first imported: call this before. It starts all its threads there:
    512 of them take 9 s on two processors, and gain nothing.
    """
    global _most
    _most = most if most is None else min(most, max(_processors(), MOST_STARTED))
    if most is not None:
        os.environ[OF_POLARS] = str(_most)


def query_in_memory() -> None:
    """Lets polars run lazy queries on whole tables, unless its environment says otherwise.

    The tables are in memory anyway. The engine that streams them, its own choice from 2.0 on, takes
    the same cpu and more memory: 9 MB for 1,000 packets and for 3 million in few flows, 20 for a
    million in 10,000 flows.
    """
    os.environ.setdefault(ENGINE, "in-memory")


def one_thread_of_polars() -> None:
    """Lets polars work on one thread, unless `limit_threads` or its environment states a number.

    To hand a piece of a table to another thread takes about as long as the work on it. Measured
    in turns on two processors: 10 million packets take 3 to 8 % less cpu in the same time; short
    flows 3 to 5 % less in 6 to 8 % more time, a kernel log 2 % less in 5 to 7 % more. Call it
    before polars is imported, too.
    """
    os.environ.setdefault(OF_POLARS, "1")


def most_threads() -> int | None:
    """The number that `limit_threads` sets; None: one per processor."""
    return _most


def spare(paths: Iterable[str]) -> bool:
    """Whether a second thread gains by work beside the reading of ``paths``."""
    return _several() and _bytes(paths) > QUICK_BYTES


def ahead(function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
    """What ``function`` makes of each of ``items``, in their order.

    Other threads, where some are allowed, are at work on the next ones while the caller is on one;
    the items themselves come from the caller's.
    """
    if not _several():
        yield from map(function, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    stated, processors = most_threads(), _processors()
    # The caller's is one of those that were stated.
    workers = min(stated - 1 if stated else processors, processors, MOST_AHEAD)
    with ThreadPoolExecutor(workers) as pool:
        coming: list[Future[B]] = []
        for item in items:
            coming.append(pool.submit(function, item))
            if len(coming) > workers:
                yield coming.pop(0).result()
        for last in coming:
            yield last.result()


def beforehand(items: Iterable[A]) -> Iterator[A]:
    """``items``, of which another thread, where one is allowed, makes the next meanwhile."""
    if not _several():
        yield from items
        return
    from concurrent.futures import ThreadPoolExecutor

    made, end = iter(items), object()
    with ThreadPoolExecutor(1) as pool:
        coming: Future[Any] = pool.submit(next, made, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, made, end)
            yield item


def _several() -> bool:
    return most_threads() != 1 and _processors() > 1


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _bytes(paths: Iterable[str]) -> float:
    """Size of regular files; infinite where one is a pipe, which may bring any number of bytes."""
    total = 0.0
    for path in paths:
        try:
            found = Path(path).stat()
        except (OSError, ValueError):
            # Reported where the file is read; `-` is standard input.
            return float("inf")
        total += found.st_size if S_ISREG(found.st_mode) else float("inf")
    return total


@dataclass
class Timing:
    """Seconds of the clock and of the processor, all threads together."""

    name: str
    wall_s: float = 0.0
    cpu_s: float = 0.0
    parts: list[Timing] = field(default_factory=list)


_stages: list[Timing] = []
_around: Timing | None = None
"""The block that holds the next one."""


@contextmanager
def timed(name: str) -> Iterator[Timing]:
    """Times what is inside; within another such block it is a part of that."""
    global _around
    timing, before = Timing(name), _around
    (before.parts if before else _stages).append(timing)
    _around = timing
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        yield timing
    finally:
        timing.wall_s = time.perf_counter() - wall
        timing.cpu_s = time.process_time() - cpu
        _around = before


def timings() -> str:
    """All stages so far; what no stage holds is start-up, imports above all."""
    cpu_s = time.process_time()
    lines = [f"{'':<22}{'time':>9}{'cpu':>9}"]
    for stage in _stages:
        lines.append(_line(stage.name, stage))
        costly = sorted(stage.parts, key=lambda part: -part.cpu_s)[:PARTS_SHOWN]
        lines += [_line(f"  {part.name}", part) for part in costly]
    rest = cpu_s - sum(stage.cpu_s for stage in _stages)
    lines.append(f"{'start-up and the rest':<22}{'':>9}{rest:>7.3f} s")
    lines.append(f"{'in all':<22}{'':>9}{cpu_s:>7.3f} s")
    return "\n".join(lines)


def forget_timings() -> None:
    """Begins anew: one process may run several commands."""
    _stages.clear()


def _line(name: str, timing: Timing) -> str:
    return f"{name:<22}{timing.wall_s:>7.3f} s{timing.cpu_s:>7.3f} s"
