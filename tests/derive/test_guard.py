"""A fault in one row costs that row."""

import pytest

from l4strace import pipeline
from l4strace.bottleneck import verdict
from l4strace.bottleneck.evidence import Direction
from l4strace.derive import guard
from tests.support.frames import capture, stack
from tests.support.queues import CUBIC, FLOWS, PRAGUE, marked_above, of, sawtooth


def halved(row: int) -> float:
    return 1 / row


def test_a_row_that_breaks_is_noted_and_the_others_are_made() -> None:
    faults: list[Exception] = []
    with guard.noting(faults):
        assert guard.each(halved, [1, 0, 2], float) == [1.0, 0.0, 0.5]
    assert [type(fault) for fault in faults] == [ZeroDivisionError]


def test_outside_it_is_raised() -> None:
    with guard.noting([]), guard.noting(None), pytest.raises(ZeroDivisionError):
        guard.each(halved, [0], float)
    with pytest.raises(ZeroDivisionError):
        guard.each(halved, [0], float)


def test_one_direction_that_breaks_leaves_the_verdict_on_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queue = sawtooth(4_000, 8_000)
    marks = marked_above(queue, 7_000, 1)
    both = stack(of(queue, ce_best=marks), of(queue, flow=1, ce_best=None, ece_acks=marks))
    seen = capture(flows=FLOWS, directions=stack(PRAGUE, CUBIC), rounds=both)
    whole = verdict.of

    def breaks(direction: Direction) -> verdict.Verdict:
        if direction.marked_as == "ect0":
            raise TypeError("'<' not supported")
        return whole(direction)

    monkeypatch.setattr(verdict, "of", breaks)
    with pytest.raises(TypeError):
        pipeline.derive(seen, strict=True)
    found = pipeline.derive(seen)
    assert found.broken == (
        "1 row of the table bottlenecks failed (TypeError: '<' not supported): please report this",
    )
    kinds = dict(found.bottlenecks.select("flow", "kind").rows())
    assert kinds[0] != "unknown"
    assert found.bottlenecks.height == 2
