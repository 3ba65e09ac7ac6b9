"""Inert fallback on a classic AQM."""

from l4strace.model import Confidence, Skipped
from l4strace.rules.l4s305_fallback_inert import check
from tests.support.frames import evidence, frame
from tests.support.scenes import FLOWS, bottleneck, log, starving, steps, two_flows


def scene(kind: str = "classic", confidence: float = 0.9, **tables: object):
    plain = {
        "bottlenecks": bottleneck(kind, confidence=confidence),
        "coexistence": starving(1, 0),
        "kernel": log(),
    }
    return two_flows(**(plain | tables))


def reduced(**cuts: object):
    """What the rule says of twenty such reductions at the highest score."""
    made = frame("cuts", source=1, ts_ns=list(range(20)), origin="kernel", classic_ecn=17.0, **cuts)
    return check(scene(kernel=log(classic_ecn=17.0), detector=steps(source=1), cuts=made))


def test_fires_when_the_score_never_left_zero() -> None:
    (found,) = check(scene())
    assert found.confidence is Confidence.HIGH
    assert found.measures[0].value == 0.0
    assert "prague_ecn_fallback=0" in found.message


def test_fires_when_the_score_rises_and_no_cut_follows() -> None:
    (found,) = reduced(law="alpha/2")
    assert "prague_ecn_fallback=2" in found.message


def test_a_reduction_that_fits_no_law_is_not_one_that_stays_at_half_alpha() -> None:
    """Of 77 reductions by the fallback 66 fitted no law: 29 % where the floor asks for 31 %."""
    for fraction, fires in ((0.29, False), (0.0, True)):
        assert bool(reduced(law="none", fraction=fraction, alpha=0.1)) is fires


def test_silent_on_l4s_lone_or_unmarked_flows_and_where_the_detector_ran() -> None:
    assert check(scene("l4s")) == []
    assert check(scene(confidence=0.5)) == []
    assert check(scene(kernel=log(saw_ce=False, delivered_ce=0))) == []
    assert check(scene(detector=steps(score=0.0, score_fixed=0.0))) == []


def test_skips_without_a_capture() -> None:
    assert check(evidence(flows=FLOWS, kernel=log())) == [
        Skipped("no capture shows what the bottleneck is")
    ]


def test_skips_without_a_score() -> None:
    assert check(scene(kernel=log(classic_ecn=None))) == [
        Skipped("the kernel log has no classic_ecn")
    ]


def test_the_smallest_window_and_a_large_alpha_do_not_show_what_the_fallback_does() -> None:
    """Two packets cannot become fewer, and alpha/2 of 0.4 is more than the floor."""
    for hidden in ({"cwnd_before": 2.0, "alpha": 0.4}, {"cwnd_before": 20.0, "alpha": 0.8}):
        assert reduced(law="none", fraction=0.0, **hidden) == [], hidden
