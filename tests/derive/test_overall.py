"""What all rounds of a direction show."""

import pytest

from l4strace import pipeline
from l4strace.derive import overall
from l4strace.evidence import Capture
from tests.support.frames import ROUND_NS, evidence, frame, rounds
from tests.support.queues import dropped


def test_each_direction_with_rounds_has_a_row() -> None:
    made = evidence(
        directions=frame("directions", flow=[0, 1], forward=[True, False]),
        rounds=rounds(5, flow=1, forward=False, ce_best=[0, 0, 1, 1, 0]),
    )
    (row,) = overall.directions(made).to_dicts()
    assert (row["flow"], row["forward"]) == (1, False)
    assert (row["start_ns"], row["end_ns"]) == (0, 5 * ROUND_NS)
    assert (row["mark_first_frame"], row["mark_last_frame"]) == (201, 300)


def test_rules_get_what_derived_tables_were_made_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rounds are handed to the native core once."""
    derived = pipeline.derive(dropped())

    def again(_: Capture) -> None:
        pytest.fail("the rounds were handed over once more")

    monkeypatch.setattr(overall, "measured", again)
    assert overall.directions(derived).height
