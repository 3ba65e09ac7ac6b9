"""A fallback that is right."""

from l4strace.model import Confidence, Severity
from l4strace.rules import l4s303_fallback_false_positive as l4s303
from l4strace.rules.l4s309_fallback_justified import check
from tests.support.frames import evidence
from tests.support.phases import phases
from tests.support.scenes import FLOWS, bottleneck, path_noise, steps, two_flows


def scene(kind: str, **columns: object):
    return two_flows(bottlenecks=bottleneck(kind), detector=steps(**columns))


def test_fires_on_a_classic_aqm() -> None:
    (found,) = check(scene("classic", mdev_us=800.0, depth_us=6000.0))
    assert found.severity is Severity.INFO
    assert [m.value for m in found.measures] == [1.0, 6000.0, 800.0]


def test_is_as_sure_as_the_aqm_is_classic() -> None:
    for sure, confidence, words in (
        (0.9, Confidence.HIGH, "behind a classic AQM"),
        (0.7, Confidence.MEDIUM, "behind what is probably a classic AQM"),
        (0.5, Confidence.LOW, "behind what is possibly a classic AQM"),
    ):
        place = bottleneck("classic", confidence=sure)
        (found,) = check(two_flows(bottlenecks=place, detector=steps()))
        assert found.confidence is confidence
        assert words in found.message


def test_a_lone_flow_leaves_open_whether_the_queue_is_shared() -> None:
    place = bottleneck("classic-or-per-flow", confidence=0.7)
    (found,) = check(two_flows(bottlenecks=place, detector=steps()))
    assert found.confidence is Confidence.MEDIUM
    assert "probably a classic AQM, on one queue or with a queue per flow, that" in found.message


def test_fires_without_a_capture_on_the_inputs_alone() -> None:
    (found,) = check(evidence(flows=FLOWS, detector=steps(mdev_us=800.0, depth_us=6000.0)))
    assert found.confidence is Confidence.LOW
    assert [m.value for m in found.measures] == [1.0]


def test_silent_on_l4s_or_with_a_low_score() -> None:
    assert check(scene("l4s")) == []
    assert check(scene("classic", score=0.0)) == []


def test_silent_where_jitter_explains_the_score() -> None:
    """L4S303 states it."""
    tables = {"flows": FLOWS, "detector": steps(mdev_us=2400.0)}
    assert len(check(evidence(**tables, noise=path_noise(jitter_us=300.0)))) == 1
    assert check(evidence(**tables, noise=path_noise(jitter_us=4200.0))) == []


def test_inputs_speak_where_packets_do_not_show_the_aqm() -> None:
    """Simulated run s8104-233: the score was above 8, and no rule stated it."""
    (found,) = check(scene("unknown", mdev_us=1725.0, depth_us=60_487.0))
    assert (found.severity, found.confidence) == (Severity.INFO, Confidence.LOW)
    assert "The packets do not show whether the AQM is classic" in found.message
    assert found.action == ""
    assert check(scene("unknown", mdev_us=300.0, depth_us=900.0)) == []


def test_a_path_that_changed_is_no_l4s_aqm_taken_for_classic() -> None:
    """Simulated: at t=5.0 s a FIFO behind the DualPI2 becomes the bottleneck."""
    late = steps(400, score=[0.0] * 200 + [17.0] * 200, mdev_us=10_890.0, score_fixed=17.0)
    moved = two_flows(
        bottlenecks=bottleneck("l4s"), detector=late, phases=phases(50, 20, marks=[100, 0])
    )
    (found,) = check(moved)
    assert (found.variant, found.confidence) == ("changed-path", Confidence.MEDIUM)
    assert found.message.endswith(
        "What shows an L4S AQM is from before t=5.0 s, when the path changed; no packet was marked "
        "while the score was above 8."
    )
    assert l4s303.check(moved) == []


def test_the_share_of_the_time_is_that_since_the_moment_named() -> None:
    """Simulated run s9401-089: "from t=4.4 s ... for 35 % of the time", and it stayed above 8."""
    late = [0.0] * 65
    (found,) = check(scene("classic", score=late + [17.0] * 35))
    assert "its score is above 8 behind a classic AQM" in found.message
    (found,) = check(scene("classic", score=late[:40] + [17.0, 17.0, 17.0, 0.0, 0.0] * 12))
    assert "its score is above 8 for 61 % of the time (the score flaps" in found.message


def test_silent_on_a_last_step_above_8() -> None:
    assert check(scene("classic", count=3, score=[0.0, 0.0, 17.0])) == []
