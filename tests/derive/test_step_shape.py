"""Steps that show whatever noise, or a smallest RTT, makes of the delay that they lie at."""

from __future__ import annotations

from typing import Any

import pytest

from l4strace.derive import low_marks, marked, step_shape
from tests.support.features import PLAIN

STEP: dict[str, Any] = {
    "marked_as": "ect1",
    "began": True,
    "marks": 400,
    "marked_parts": 10,
    "marking_delay_us": 1_000.0,
    "marking_median_us": 1_200.0,
    **dict.fromkeys(("high_rounds", "high_unmarked", "high_acked", "high_marks"), 0),
}
LATE = {"began": False, "flat": False}
LONG = {
    "first_marking_us": 1_400.0,
    "marking_delay_us": 27_000.0,
    "classic_slots": 50,
    "classic_gap": 0.03,
    "classic_corr": 0.99,
    "classic_queue_us": 39_000.0,
    "classic_own_queue_us": 39_000.0,
    "classic_mark_delay_us": 28_000.0,
    "classic_high": 100,
    "classic_high_unmarked": 0,
}
"""One queue of 39 ms in which all packets are marked."""
EVEN = {"marks": 30, "queue_max_us": 2_900.0, "classic_slots": 0}


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({}, "l4s"),
        ({"marks": 29}, "unknown"),
        ({"queue_max_us": 3_100.0}, "unknown"),
        ({"queue_max_us": None}, "unknown"),
        ({"queue_max_us": 7_900.0, "noise_us": 5_000.0}, "l4s"),
        ({"queue_max_us": 7_900.0, "noise_us": 5_100.0}, "unknown"),
    ],
)
def test_delays_more_even_than_those_of_any_classic_aqm_are_those_of_a_step(
    changed: dict[str, Any], kind: str
) -> None:
    """Runs s8104-189 and s8104-202: a late capture, and 2 ms of jitter or ACKs that jitter."""
    assert low_marks.verdict(PLAIN | STEP | EVEN | LATE | changed)[0] == kind


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        ({}, True),
        ({"began": False}, False),
        ({"first_marking_us": 3_100.0}, False),  # above the border
        ({"classic_corr": 0.4}, False),  # perhaps another queue
        ({"classic_high_unmarked": 30}, False),
        ({"far_unmarked": 3}, False),
        ({"classic_slots": None, "classic_high": None, "classic_high_unmarked": None}, False),
    ],
)
def test_marks_of_all_in_a_queue_that_one_flow_keeps_long_are_those_of_a_step(
    changed: dict[str, Any], shown: bool
) -> None:
    """Run s8202-230: a step, BBR and 39 ms of queue; the first mark came at 1.4 ms."""
    found = low_marks.overloaded_step(PLAIN | STEP | LONG | changed)
    assert (found is not None and found[0] == "shallow") is shown


MOVED: dict[str, Any] = {
    "classic_slots": 0,
    "scalable_ect0": 0,
    "queue_high_us": 2_750.0,
    "first_marking_us": 342.7,
    "all_marks": 73,
    "rounds": 2_670,
    "marked_rounds": 36,
    "scalable_marks": 10,
    "scalable_high": 11,
    "scalable_high_unmarked": 10,
    "scalable_mark_delay_us": 3_500.0,
    "marks": 41,
    "acked": 5_408,
    "marking_delay_us": 3_500.0,
    "marking_median_us": 3_619.0,
    "stepped": 1.0,
    "high_rounds": 186,
    "high_unmarked": 164,
    "high_acked": 391,
    "high_marks": 41,
    "crossed": 19,
    "queue_delay_us": 2_175.0,
    "queue_max_us": 9_135.0,
    "scalable_slots": 60,
    "scalable_gap": 0.05,
    "scalable_corr": 0.89,
    "scalable_queue_us": 2_100.0,
    "scalable_own_queue_us": 2_138.0,
}
"""Lab run s2501-124: a step at 2 ms, and packets that skip 1.4 ms of the path. The delay of two
flows was equal, and most queues beyond 3 ms had no mark: a classic AQM, of high confidence."""


@pytest.mark.parametrize(
    ("changed", "moved"),
    [
        ({}, True),
        ({"stepped": 0.85}, False),
        ({"marking_median_us": 5_100.0}, False),  # one of many delays
        ({"marks": 9}, False),
        ({"marking_delay_us": 5_700.0, "marking_median_us": 6_200.0}, False),  # lab run e
        ({"marked_as": "ect0"}, False),
    ],
)
def test_marks_at_one_delay_that_no_queue_outlasts_are_a_step_wherever_it_seems(
    changed: dict[str, Any], moved: bool
) -> None:
    f = PLAIN | STEP | MOVED | changed
    assert step_shape.moved_step(f) is moved
    found = marked.verdict(PLAIN | STEP | MOVED | changed)
    assert found is not None
    assert (found[0] == "l4s") is moved


def test_a_step_without_a_usual_delay_is_no_error() -> None:
    assert step_shape.moved_step(PLAIN | STEP | MOVED | {"marking_median_us": None})
