"""Steps that show by how even a queue stays, or by the first mark of a queue that never drains."""

from __future__ import annotations

from typing import Any

import pytest

from l4strace.derive import low_marks
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
MOMENT = {"marked_parts": 1}
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
        ({"queue_max_us": 7_900.0, "noise_us": 5_000.0}, "l4s"),
        ({"queue_max_us": 7_900.0, "noise_us": 5_100.0}, "unknown"),
    ],
)
def test_delays_more_even_than_those_of_any_classic_aqm_are_those_of_a_step(
    changed: dict[str, Any], kind: str
) -> None:
    """Runs s8104-189 and s8104-202: a late capture, and 2 ms of jitter or ACKs that jitter."""
    assert low_marks.verdict(PLAIN | STEP | EVEN | LATE | changed)[0] == kind


def test_marks_of_one_moment_count_where_no_longer_queue_was_ever_met() -> None:
    """Lab run s2501-155: the link became faster than what the flows send."""
    assert low_marks.verdict(PLAIN | STEP | EVEN | MOMENT)[0] == "l4s"
    longer = EVEN | {"queue_max_us": 13_000.0}
    assert low_marks.verdict(PLAIN | STEP | MOMENT | longer)[0] == "unknown"


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
