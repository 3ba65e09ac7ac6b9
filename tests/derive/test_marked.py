"""What marks show, from the features of one direction (whole scenes: test_bottlenecks)."""

from __future__ import annotations

from typing import Any

import pytest

from l4strace.derive import marked
from tests.support.features import PLAIN


def features(**changed: Any) -> dict[str, Any]:
    """A lone ECT(1) flow whose marks come at 8 ms of queue delay."""
    plain = {
        "marked_as": "ect1",
        "marks": 20,
        "all_marks": 20,
        "acked": 5_000,
        "queue_delay_us": 7_000.0,
        "queue_high_us": 9_000.0,
        "marking_delay_us": 8_000.0,
        "marking_median_us": 8_500.0,
        "first_marking_us": 8_000.0,
        "high_rounds": 50,
        "high_acked": 1_000,
        "high_marks": 20,
        "high_unmarked": 40,
        "classic_slots": 0,
        "began": True,
    }
    return PLAIN | plain | changed


def test_deep_marks_of_a_queue_that_stood_unmarked_are_classic() -> None:
    assert marked.verdict(features())[:2] == ("classic", 0.5)


@pytest.mark.parametrize(
    "changed",
    [
        {"high_marks": 990},  # every packet beyond the border is marked: so may those below be
        {"high_acked": 0, "high_marks": 0},
        {"classic_feedback": True, "high_unmarked": 2},
    ],
)
def test_marks_of_every_long_queue_show_no_threshold(changed: dict[str, Any]) -> None:
    assert marked.verdict(features(**changed))[0] == "unknown"


def test_a_queue_that_passed_the_border_unmarked_shows_one() -> None:
    passed = features(high_acked=0, high_marks=0, crossed=3)
    assert marked.verdict(passed)[0] == "classic"


def test_one_mark_counts_where_many_packets_waited_without() -> None:
    few = {"marks": 1, "all_marks": 1, "high_marks": 1, "marking_delay_us": 5_000.0}
    kind, confidence, _ = marked.verdict(features(**few, first_marking_us=5_000.0))
    assert (kind, confidence) == ("classic", 0.5)
    assert marked.verdict(features(**few, first_marking_us=5_000.0, high_acked=50)) is None


def test_no_marks_show_nothing() -> None:
    assert marked.verdict(features(marks=0, all_marks=0, high_marks=0)) is None


SCALABLE = {
    "marked_as": "ect0",
    "scalable_slots": 50,
    "scalable_marks": 500,
    "scalable_marked_slots": 40,
    "scalable_mark_delay_us": 5_500.0,
    "scalable_queue_us": 4_000.0,
    "scalable_own_queue_us": 9_000.0,
    "scalable_high": 400,
    "scalable_high_unmarked": 0,
    "scalable_gap": 0.6,
    "scalable_corr": 0.1,
}
"""An ECT(0) flow beside ECT(1) flows, each in its queue."""

NOISY = {"marking_delay_us": 18_000.0, "noise_us": 5_000.0, "queue_high_us": 20_000.0}


def test_thresholds_apart_are_two_queues_although_noise_moves_them() -> None:
    assert marked.verdict(features(**SCALABLE | NOISY))[:2] == ("l4s", 0.6)


def test_an_ect1_flow_that_waits_long_without_marks_meets_no_step() -> None:
    left = features(**SCALABLE | NOISY | {"scalable_high_unmarked": 150})
    assert marked.verdict(left)[0] == "per-flow"


def test_late_marks_in_an_own_queue_beside_early_marks_of_ect1_are_l4s() -> None:
    low = SCALABLE | {"scalable_mark_delay_us": 900.0}
    assert marked.verdict(features(**low))[:2] == ("l4s", 0.6)
    assert marked.verdict(features(**SCALABLE))[0] == "per-flow"


def test_early_marks_of_ect0_packets_too_exclude_a_coupled_dual_queue() -> None:
    """Lab run s801-158: a step marked both flows while they started, and then neither."""
    early = {"marks": 0, "all_marks": 3, "first_marking_us": 1_100.0, "high_acked": 0}
    assert marked.verdict(features(**early))[0] == "l4s"
    both = features(**early, ect0_marks=10, ect0_ratio=4.5)
    assert marked.verdict(both)[0] == "shallow"
