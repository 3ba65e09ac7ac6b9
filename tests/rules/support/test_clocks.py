"""Captures whose clock was set."""

from l4strace.rules.support import clocks
from tests.support.frames import evidence, frame


def test_one_step_forward_spoils_a_run_and_two_back_do_not():
    directions = frame(
        "directions",
        source=[0, 1, 2, 3],
        clock_steps=[1, 2, 3, None],
        clock_ahead_ns=[3_600_000_000_000, None, None, None],
    )
    assert clocks.spoiled(evidence(directions=directions)) == [0, 2]


def test_without_steps_nothing_is_spoiled():
    assert clocks.spoiled(evidence()) == []
