"""Packets that do not fit their connection."""

from l4strace.rules.l4s011_packets_out_of_window import check
from tests.support.frames import evidence, frame


def test_fires_on_the_direction_that_shows_them():
    directions = frame("directions", forward=[True, False], out_of_window=[0, 2])
    (found,) = check(evidence(directions=directions))
    assert (found.forward, found.measures[0].value) == (False, 2)


def test_silent_without():
    assert check(evidence(directions=frame("directions", out_of_window=0))) == []
