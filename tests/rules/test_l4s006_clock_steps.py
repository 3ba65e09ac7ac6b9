"""Stepped clocks."""

from l4strace.model import Severity
from l4strace.rules.l4s006_clock_steps import check
from tests.support.frames import evidence, frame


def test_fires_on_stamps_that_run_back():
    (found,) = check(
        evidence(sources=frame("sources"), directions=frame("directions", clock_steps=5))
    )
    assert found.severity is Severity.WARNING
    assert "run back by more than 1 ms 5 times" in found.message


def test_silent_on_steady_stamps():
    assert (
        check(evidence(sources=frame("sources"), directions=frame("directions", clock_steps=0)))
        == []
    )
