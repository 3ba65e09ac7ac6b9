"""What the path did while the score was above 8."""

from typing import Any

import polars as pl
import pytest

from l4strace.fallback.conditions import UNCHANGED, Conditions, conditions
from tests.support.frames import MS, evidence, frame
from tests.support.phases import phases
from tests.support.scenes import DIRECTIONS, FLOWS, steps

BEFORE, AFTER = [0.0] * 200, [17.0] * 200
"""Scores of the two phases, of five seconds each."""
PATH = "10.0.1.0/24>10.0.3.0/24"


def seen(score: list[float], path: pl.DataFrame, **tables: Any) -> Conditions:
    scene = {"flows": FLOWS, "directions": DIRECTIONS, "phases": path} | tables
    detector = tables.pop("detector", steps(len(score), score=score))
    return conditions(evidence(**(scene | {"detector": detector}))).get((0, True), UNCHANGED)


def overshoot(start_ms: int, end_ms: int, **columns: Any) -> pl.DataFrame:
    plain = {"path": PATH, "start_ns": start_ms * MS, "end_ns": end_ms * MS, "hit": "0, 1"}
    return frame("spikes", **(plain | {"cause": "slow-start", "culprit": 1} | columns))


def test_a_score_that_rises_when_the_path_changes_is_of_that_change() -> None:
    found = seen(BEFORE + AFTER, phases(50, 5, marks=[100, 0]))
    assert (found.changed_ns, found.marks) == (5_000 * MS, False)
    assert found.packet_us == pytest.approx(2422, rel=0.01)


def test_a_short_phase_belongs_to_the_next() -> None:
    """Simulated: the rate falls, and 0.2 s later the marks stop."""
    times = {
        "start_ns": [0, 5_000 * MS, 5_200 * MS],
        "end_ns": [5_000 * MS, 5_200 * MS, 10_000 * MS],
    }
    found = seen(BEFORE + [0.0] * 8 + AFTER[8:], phases(50, 20, 20, **times))
    assert found.changed_ns == 5_000 * MS


@pytest.mark.parametrize(
    ("score", "path"),
    [
        (AFTER + AFTER, phases(50, 5)),
        (BEFORE + BEFORE, phases(50, 5)),
        (BEFORE + AFTER, phases(50)),
        # Five steps before the change: a score needs as many to rise.
        ([0.0] * 5 + AFTER, phases(50, 5, start_ns=[0, 125 * MS], end_ns=[125 * MS, 10_000 * MS])),
    ],
)
def test_a_change_that_the_score_does_not_follow_explains_nothing(
    score: list[float], path: pl.DataFrame
) -> None:
    assert seen(score, path).changed_ns is None


def test_packets_show_it_where_no_log_does() -> None:
    bounds = {"score_fixed": 17.0, "score_fixed_hi": 17.0, "score_fixed_lo": BEFORE + AFTER}
    replayed = steps(400, origin="packets", score=None, **bounds)
    assert seen([], phases(50, 20), detector=replayed).changed_ns == 5_000 * MS


@pytest.mark.parametrize(
    ("spikes", "overshot"),
    [
        (overshoot(4_000, 5_000), True),
        (overshoot(4_000, 5_000, culprit=0, hit="0"), True),
        (overshoot(4_000, 5_000, culprit=2, hit="2, 10"), False),
        (overshoot(4_000, 5_000, cause="rate-drop"), False),
        (overshoot(0, 1_000), False),
    ],
)
def test_a_score_that_is_high_after_a_slow_start_alone_is_of_it(
    spikes: pl.DataFrame, overshot: bool
) -> None:
    score = BEFORE[:170] + [17.0] * 80 + BEFORE[:150]
    assert seen(score, phases(50), spikes=spikes).overshot is overshot


def test_a_score_that_is_high_at_other_times_too_is_not() -> None:
    score = BEFORE[:170] + [17.0] * 80 + [0.0, 17.0] * 75
    assert not seen(score, phases(50), spikes=overshoot(4_000, 5_000)).overshot
