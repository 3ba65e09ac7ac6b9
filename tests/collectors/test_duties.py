"""A buffer that never runs dry: the log reaches the disk all the same, and a stop ends it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kernel import bcc, duties
from kernel.duties import Duties


class Bench:
    """A clock, a program and a receiver; taking a sample lasts ten milliseconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.stopped = False
        self.did: list[Any] = []
        monkeypatch.setattr(duties.time, "monotonic", lambda: self.now)
        names = ("flush", "status", "end")
        calls = {name: lambda name=name: self.did.append((name, self.now)) for name in names}
        log = SimpleNamespace(losing=self.losing, **calls)
        receiver = SimpleNamespace(take=self.taken, tick=lambda _now: None, **calls)
        program = SimpleNamespace(newly_lost=lambda: {"nested": 3})
        self.lost: dict[str, int] = {}
        self.duties = Duties(self, program, receiver, log)

    def __bool__(self) -> bool:
        return self.stopped

    def losing(self, where: str, count: int) -> None:
        self.lost[where] = self.lost.get(where, 0) + count

    def taken(self, raw: bytes) -> None:
        self.did.append(raw)
        self.now += 0.01

    def times(self, name: str) -> list[float]:
        return [round(one[1], 2) for one in self.did if isinstance(one, tuple) and one[0] == name]


def test_within_one_poll_the_log_is_flushed_each_second(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)
    for _ in range(350):
        bench.duties.take(b"sample")
    assert len(bench.times("flush")) == len(bench.times("status")) == 3
    assert bench.lost == {"nested": 9}


def test_after_the_stop_what_is_left_is_taken_for_a_while_and_then_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(monkeypatch)

    def poll(_milliseconds: int) -> None:
        bench.stopped = True
        for _ in range(1000):
            bench.duties.take(b"sample")

    bcc.poll(bench, SimpleNamespace(poll=poll), bench.duties)
    taken = bench.did.count(b"sample")
    assert taken == pytest.approx(100 * duties.END_SECONDS, abs=2)
    assert bench.lost["ring"] == 2000 - taken
    assert bench.did[-1][0] == "end"
