"""Alpha sixteen times too large or too small."""

from l4strace.model import Confidence
from l4strace.rules.l4s209_alpha_scale_misread import check
from tests.support.frames import evidence, rounds
from tests.support.scenes import DIRECTIONS, FLOWS, log


def scene(**columns: object):
    return evidence(
        flows=FLOWS,
        directions=DIRECTIONS,
        rounds=rounds(200, alpha=0.02),
        kernel=log(**({"event": "poll"} | columns)),
    )


def test_fires_beyond_one() -> None:
    (found,) = check(scene(alpha=[16.0] + [0.32] * 199))
    assert found.confidence is Confidence.HIGH
    assert [m.value for m in found.measures] == [16.0]


def test_fires_on_sixteen_times_what_the_marks_give() -> None:
    (found,) = check(scene(alpha=0.32))
    assert found.confidence is Confidence.MEDIUM
    assert [m.value for m in found.measures] == [0.32, 16.0]


def test_fires_on_a_sixteenth_of_what_the_marks_give() -> None:
    (found,) = check(scene(alpha=0.00125))
    assert found.confidence is Confidence.MEDIUM
    assert [m.value for m in found.measures] == [0.00125, 0.0625]


def test_silent_on_the_right_scale() -> None:
    assert check(scene()) == []
    assert check(scene(alpha=0.005)) == []
    assert check(scene(alpha=0.1)) == []
