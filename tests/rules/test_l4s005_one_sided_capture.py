"""Flows of which one direction is missing."""

from l4strace.rules.l4s005_one_sided_capture import check
from tests.support.frames import evidence, frame, stack


def test_fires_when_the_other_direction_never_shows():
    (found,) = check(evidence(directions=frame("directions")))
    assert (found.flow, found.forward) == (0, True)


def test_fires_when_its_row_is_there_but_empty():
    rows = frame("directions", forward=[True, False], packets=[1000, 0])
    assert len(check(evidence(directions=rows))) == 1


def test_silent_with_both_directions_and_on_a_handful_of_packets():
    both = frame("directions", forward=[True, False])
    few = frame("directions", flow=1, packets=3)
    assert check(evidence(directions=stack(both, few))) == []


def test_fires_on_flows_that_lack_the_other_direction_each():
    rows = frame("directions", flow=[0, 1, 2, 2], forward=[True, False, True, False])
    found = check(evidence(directions=rows))
    assert {(one.flow, one.forward) for one in found} == {(0, True), (1, False)}
