"""Marks that fail to come, and steps of the base RTT."""

import pytest

from l4strace.derive import silences
from tests.support.slots import WIDTH, slots

MARKED = {"count": 50}
SILENT = {"count": 190, "marks": 0.0, "lost": 0.25}
"""19 s without a mark, in which 47 packets were lost."""


def test_a_gap_with_losses_is_a_change_with_its_end() -> None:
    found = list(silences.marking_changes(slots(MARKED, SILENT, MARKED)))
    assert [(c.first, c.at_ns) for c in found] == [(50, 50 * WIDTH), (240, 240 * WIDTH)]


def test_a_gap_with_a_standing_queue_is_a_change() -> None:
    stood = SILENT | {"lost": 0.0, "queue_us": 20_000.0}
    assert len(list(silences.marking_changes(slots(MARKED, stood, MARKED)))) == 2


@pytest.mark.parametrize(
    "stretches",
    [
        pytest.param([MARKED, SILENT | {"lost": 0.0}, MARKED], id="an empty queue"),
        pytest.param([MARKED | {"lost": 0.25}, SILENT, MARKED | {"lost": 0.25}], id="random loss"),
        pytest.param([MARKED, SILENT | {"count": 15, "lost": 3.0}, MARKED], id="short"),
        pytest.param([{"count": 3}, SILENT], id="hardly ever a mark"),
    ],
)
def test_what_is_no_change_of_marking(stretches: list[dict[str, object]]) -> None:
    assert list(silences.marking_changes(slots(*stretches))) == []


def test_rare_marks_have_long_gaps() -> None:
    rare = [{"count": 40, "marks": 0.0, "lost": 0.1}, {}] * 10
    assert list(silences.marking_changes(slots(*rare))) == []


LONGER = {"count": 30, "marks": 0.0, "floor_us": 30_000.0}
CALM = {"count": 30, "marks": 0.0}


def test_a_step_of_the_smallest_rtt_is_a_change_of_route() -> None:
    (found,) = silences.base_rtt_changes(slots(CALM, LONGER))
    assert found.what == "base RTT"
    assert abs(found.at_ns - 30 * WIDTH) <= WIDTH


def test_a_queue_that_moves_or_is_marked_is_no_route() -> None:
    moving = [{"marks": 0.0, "floor_us": 20_000.0 + 1000 * (n % 10)} for n in range(30)]
    assert list(silences.base_rtt_changes(slots(CALM, *moving))) == []
    assert list(silences.base_rtt_changes(slots(CALM, LONGER | {"marks": 1.0}))) == []


def test_a_round_as_long_as_the_window_shows_no_route() -> None:
    """Lab run s1401-132: slow start left 1.6 s of queue, ten slots of one round."""
    deep = LONGER | {"floor_us": 1_600_000.0}
    assert list(silences.base_rtt_changes(slots(CALM, deep))) == []
