"""An alpha that does not move."""

from l4strace.rules.l4s207_alpha_stuck import check
from tests.support.frames import evidence
from tests.support.scenes import log


def test_fires_when_marks_move_nothing() -> None:
    (found,) = check(evidence(kernel=log(alpha=0.0)))
    assert [m.value for m in found.measures] == [199, 1]


def test_silent_when_it_moves_or_nothing_was_marked() -> None:
    assert check(evidence(kernel=log())) == []
    assert check(evidence(kernel=log(alpha=1.0, delivered_ce=0))) == []
