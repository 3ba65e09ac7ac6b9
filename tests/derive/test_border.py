"""Which queues an AQM left without a mark, and whether flows wait in one."""

from __future__ import annotations

from typing import Any

import pytest

from l4strace.derive import border
from tests.support.features import PLAIN


def features(**changed: Any) -> dict[str, Any]:
    """A flow whose queues beyond the border are all marked, beside one in the same queue."""
    plain = {
        "marking_delay_us": 12_000.0,
        "high_rounds": 200,
        "high_unmarked": 0,
        "high_acked": 400,
        "high_marks": 400,
        "classic_slots": 50,
        "classic_gap": 0.05,
        "classic_corr": 0.9,
        "classic_queue_us": 20_000.0,
        "classic_own_queue_us": 21_000.0,
    }
    return PLAIN | plain | changed


@pytest.mark.parametrize(
    ("changed", "tolerated"),
    [
        ({}, False),
        ({"far_unmarked": 3}, True),  # few of 200 rounds, but no jitter explains them
        ({"far_unmarked": 2}, False),
        ({"path_far_unmarked": 3}, True),
        ({"path_far_unmarked": 3, "classic_corr": 0.1}, False),  # of another queue
        # Lab run s1201-142: at 135 ms of RTT the queue that all share is mostly empty.
        ({"path_far_unmarked": 3, "noise_us": 20_000.0}, True),
        ({"crossed": 3}, True),
    ],
)
def test_packets_that_waited_far_beyond_the_border_show_tolerance(
    changed: dict[str, Any], tolerated: bool
) -> None:
    assert border.tolerated(features(**changed)) is tolerated


@pytest.mark.parametrize(
    ("changed", "one"),
    [
        ({}, True),
        ({"classic_own_queue_us": 2_000.0}, False),  # an L4S AQM lets a queue of 2 ms stand
        ({"noise_us": 20_000.0}, False),
        ({"classic_corr": 0.3}, False),
        ({"classic_slots": 5}, False),
    ],
)
def test_one_long_queue_is_equal_and_parallel_delays(changed: dict[str, Any], one: bool) -> None:
    assert border.in_one_queue(features(**changed), "classic") is one


def test_a_queue_three_times_longer_is_another_queue() -> None:
    assert border.isolated(features(other_us=80_000.0), "classic_queue_us", "other_us")
    assert not border.isolated(features(other_us=50_000.0), "classic_queue_us", "other_us")


def test_a_packet_more_is_no_queue_more() -> None:
    """Lab run s1501-075: 2.1 ms and 0.3 ms at 5 Mbit/s, behind a step that all share."""
    waits = features(short_us=255.0, long_us=2_111.0)
    assert border.isolated(waits, "short_us", "long_us")
    assert not border.isolated(waits | {"serialisation_us": 2_490.0}, "short_us", "long_us")
