"""Where the time of one command goes (`--timings`): stages, and the costliest parts of each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

PARTS_SHOWN = 5


@dataclass
class Timing:
    """Seconds of the clock and of the processor, all threads together.

    Of parts that ran side by side, each has the processor's time of all.
    """

    name: str
    wall_s: float = 0.0
    cpu_s: float = 0.0
    parts: list[Timing] = field(default_factory=list)


_stages: list[Timing] = []
_around: ContextVar[Timing | None] = ContextVar("around", default=None)
"""The block that holds the next one; a thread has it from the context that it runs in."""


@contextmanager
def timed(name: str) -> Iterator[Timing]:
    """Times what is inside; within another such block it is a part of that."""
    timing = Timing(name)
    around = _around.get()
    (around.parts if around else _stages).append(timing)
    before = _around.set(timing)
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        yield timing
    finally:
        timing.wall_s = time.perf_counter() - wall
        timing.cpu_s = time.process_time() - cpu
        _around.reset(before)


def table() -> str:
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


def forget() -> None:
    """Begins anew: one process may run several commands."""
    _stages.clear()


def _line(name: str, timing: Timing) -> str:
    return f"{name:<22}{timing.wall_s:>7.3f} s{timing.cpu_s:>7.3f} s"
