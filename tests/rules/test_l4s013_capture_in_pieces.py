"""Captures that follow one another."""

import pytest

from l4strace.model import Severity
from l4strace.rules.l4s013_capture_in_pieces import check
from tests.support.frames import evidence, frame


def scene(times, flows=(0, 0, 0), kind="pcap"):
    """Captures from and to these times, each with data of one flow."""
    inputs = list(range(len(times)))
    first, last = zip(*times, strict=True)
    return evidence(
        sources=frame(
            "sources", source=inputs, kind=kind, first_ns=list(first), last_ns=list(last)
        ),
        directions=frame("directions", source=inputs, flow=list(flows)[: len(inputs)]),
    )


def test_fires_once_on_pieces_in_whatever_order():
    (found,) = check(scene([(200, 300), (0, 100), (100, 200)]))
    assert (found.severity, found.source) == (Severity.WARNING, 1)
    assert "3 captures follow one another" in found.message
    assert "mergecap" in found.action


@pytest.mark.parametrize(
    ("times", "flows"),
    [
        ([(0, 100), (1, 101)], (0, 0)),
        ([(0, 100), (99, 200)], (0, 0)),
        ([(0, 100), (200, 300)], (0, 1)),
        ([(0, 100)], (0,)),
    ],
    ids=["both ends", "one begins late", "other flows", "alone"],
)
def test_silent_on_captures_of_one_time_and_of_other_flows(times, flows):
    assert check(scene(times, flows)) == []


def test_silent_on_logs_and_on_captures_without_packets():
    assert check(scene([(0, 100), (200, 300)], kind="kernel-log")) == []
    assert check(scene([(0, 100), (None, None)])) == []
