"""Packets larger than the wire allows."""

from l4strace.model import Severity
from l4strace.rules.l4s003_offload_super_packets import check
from tests.support.frames import evidence, frame


def test_fires_on_a_direction_of_super_packets():
    rows = frame("directions", super_packets=400, max_payload=65_160)
    (found,) = check(evidence(directions=rows))
    assert found.severity is Severity.NOTICE
    assert (found.flow, found.forward) == (0, True)


def test_fires_in_the_singular():
    (found,) = check(evidence(directions=frame("directions", super_packets=1, data_packets=70)))
    assert found.message.startswith("1 of 70 data packets is larger than the receiver's MSS")


def test_silent_without_any_and_with_a_stray_one():
    assert check(evidence(directions=frame("directions", super_packets=[0, 1], flow=[0, 1]))) == []
