"""CE without an answer."""

from l4strace.rules.l4s202_no_response_to_ce import check
from tests.support.frames import evidence
from tests.support.scenes import DIRECTIONS, FLOWS, packet_cuts


def scene(**columns: object):
    plain = {"alpha": 0.6, "fraction": 0.0, "fraction_lo": 0.0, "fraction_hi": 0.04}
    return evidence(flows=FLOWS, directions=DIRECTIONS, cuts=packet_cuts(**(plain | columns)))


def test_fires_when_marks_ask_for_much_and_get_nothing() -> None:
    (found,) = check(scene())
    assert [m.value for m in found.measures] == [0.3, 0.0]


def test_silent_on_an_answer_on_few_marks_and_on_kernel_cuts() -> None:
    assert check(scene(fraction=0.28, fraction_hi=0.33)) == []
    assert check(scene(alpha=0.05)) == []
    assert check(scene(origin="kernel")) == []
