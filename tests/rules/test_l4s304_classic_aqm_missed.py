"""Missed classic AQM: a score of 0 in a queue for all."""

from l4strace.model import Confidence, Severity
from l4strace.rules.l4s304_classic_aqm_missed import check
from tests.support.scenes import bottleneck, starving, steps, two_flows


def scene(kind: str = "shallow", confidence: float = 0.9, **columns: object):
    return two_flows(
        bottlenecks=bottleneck(kind, confidence=confidence),
        coexistence=starving(1, 0),
        detector=steps(**({"score": 0.0} | columns)),
    )


def test_fires_and_names_who_starves() -> None:
    (found,) = check(scene())
    assert found.severity is Severity.WARNING
    assert found.message == (
        "Prague's detector missed a classic AQM: all flows share one queue that marks from 0.4 ms "
        "of queue delay, but the score did not exceed 0.0 (threshold 8); flow 1 (port 40002, "
        "ECT(0)) starves from t=2.0 s with 10 % of both rates."
    )


def test_fires_where_the_queue_is_probably_shared() -> None:
    """Simulated: CoDel that marks all at 1 ms, the other flow starves and no rule said why."""
    (found,) = check(scene(confidence=0.6))
    assert found.confidence is Confidence.MEDIUM
    assert "missed what is probably a classic AQM" in found.message


def test_names_the_share_of_steps_where_the_score_rose_for_a_moment() -> None:
    (found,) = check(scene(score=[17.0] * 4 + [0.0] * 96))
    assert "above 8 only for 4 % of the time" in found.message


def test_silent_where_the_aqm_is_l4s_or_the_class_is_a_guess_or_the_score_rose() -> None:
    assert check(scene("l4s")) == []
    assert check(scene("classic", confidence=0.5)) == []
    assert check(scene("classic", score=17.0)) == []


def test_silent_when_the_detector_never_ran() -> None:
    """A correct detector would have answered: that is an inert fallback."""
    assert check(scene("classic", score_fixed=17.0)) == []
