"""Missed classic AQM: a score of 0 in a queue for all."""

from l4strace.model import Severity
from l4strace.rules.l4s304_classic_aqm_missed import check
from tests.support.frames import evidence
from tests.support.scenes import DIRECTIONS, FLOWS, bottleneck, starving, steps


def scene(kind: str = "shallow", confidence: float = 0.9, **columns: object):
    return evidence(
        flows=FLOWS,
        directions=DIRECTIONS,
        bottlenecks=bottleneck(kind, confidence=confidence),
        coexistence=starving(1, 0),
        detector=steps(**({"score": 0.0} | columns)),
    )


def test_fires_and_names_who_starves() -> None:
    (found,) = check(scene())
    assert found.severity is Severity.WARNING
    assert found.message == (
        "Classic AQM missed: one queue marks all flows from 0.4 ms, yet the score stayed at 0.0 of "
        "17 at most; flow 1 (port 40002, ECT(0)) is left with 10 % since 2.0 s after its start."
    )


def test_silent_where_the_aqm_is_l4s_or_the_class_is_a_guess_or_the_score_rose() -> None:
    assert check(scene("l4s")) == []
    assert check(scene("classic", confidence=0.5)) == []
    assert check(scene("classic", score=17.0)) == []


def test_silent_when_the_detector_never_ran() -> None:
    """A correct detector would have answered: that is an inert fallback."""
    assert check(scene("classic", score_fixed=17.0)) == []
