"""Misfire: a classic score on an L4S path."""

import pytest

from l4strace.model import Confidence, Severity, Skipped
from l4strace.pipeline import with_fallback
from l4strace.rules.l4s301_fallback_misfire import check
from tests.support.frames import evidence, frame
from tests.support.scenes import FLOWS, STEP_NS, bottleneck, log, steps, two_flows

STUDY = {
    "@c_sticky": 485,
    "@l_sticky": 3,
    "@transition": 0,
    "@mdev_ge": 0,
    "@mdev_l": 2324,
    "@mdev_l_sum": 99132,
    "@sdepth_ge": 3,
    "@sdepth_ge_sum": 7308,
    "@sdepth_l": 2321,
    "@sdepth_l_sum": 122036,
}


def scene(kind: str = "l4s", **columns: object):
    return two_flows(bottlenecks=bottleneck(kind), detector=steps(**columns))


def test_fires_with_the_numbers_and_the_build() -> None:
    late = [0.0] * 20 + [17.0] * 80
    (found,) = check(scene(score=late, build="24-bit buggy", residue=6020646))
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.HIGH)
    assert found.message == (
        "Prague's classic-ECN fallback misfired behind an L4S AQM: from t=0.5 s it backed off like "
        "a classic flow although queue delay (400 us, threshold "
        "2 ms) and RTT deviation (120 us, threshold 0.75 ms) stayed low. Its arithmetic matches "
        "the 24-bit build with the scaling bug."
    )
    assert found.span_ns is not None
    assert found.span_ns[0] == 20 * STEP_NS


def test_a_lone_flow_does_not_show_that_the_aqm_is_l4s() -> None:
    table = bottleneck("l4s").with_columns(confidence=0.7)
    (found,) = check(two_flows(bottlenecks=table, detector=steps()))
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.MEDIUM)
    assert "L4S AQM" not in found.message


def test_fires_without_a_capture_on_the_inputs_alone() -> None:
    """What no capture shows may be a queue that marks all flows early."""
    (found,) = check(evidence(flows=FLOWS, detector=steps()))
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.MEDIUM)
    assert "L4S AQM" not in found.message


def test_does_not_claim_a_reduction_where_the_score_is_only_observed() -> None:
    """prague_ecn_fallback=2 keeps a score that no reduction uses."""
    cuts = frame("cuts", ts_ns=list(range(20)), origin="kernel", classic_ecn=17.0, law="alpha/2")
    (found,) = check(evidence(flows=FLOWS, detector=steps(), cuts=cuts))
    assert found.severity is Severity.NOTICE
    assert "which no reduction used" in found.message
    assert "backed off" not in found.message


def test_alpha_that_cuts_as_deep_as_the_fallback_leaves_a_notice() -> None:
    """It cannot be seen whether prague_ecn_fallback=2 only observes."""
    made = {"ts_ns": list(range(20)), "origin": "kernel", "classic_ecn": 17.0, "alpha": 0.78}
    cuts = frame("cuts", **made, cwnd_before=6.0, fraction=0.39, law="alpha/2")
    (found,) = check(two_flows(bottlenecks=bottleneck("l4s"), detector=steps(), cuts=cuts))
    assert (found.severity, found.variant) == (Severity.NOTICE, "unused")
    assert "its score was above 8, where alpha/2 alone is at least its 31 %, although" in (
        found.message
    )


def test_a_score_that_flaps_gives_its_range_and_its_share_of_the_time() -> None:
    (found,) = check(scene(score=([17.0] * 5 + [0.0] * 5) * 10))
    assert "for 51 % of the time (the score flaps between 0.0 and 17.0)" in found.message


def test_silent_where_correct_thresholds_give_the_same() -> None:
    """The path explains it: L4S303."""
    assert check(scene(score_fixed=17.0)) == []


@pytest.mark.parametrize("kind", ["classic", "shallow", "per-flow", "classic-or-per-flow"])
def test_silent_on_a_classic_bottleneck(kind: str) -> None:
    assert check(scene(kind)) == []


@pytest.mark.parametrize("columns", [{"score": 0.0}, {"mdev_us": 1100.0}, {"depth_us": 6000.0}])
def test_silent_when_the_score_or_the_inputs_say_so(columns: dict[str, float]) -> None:
    assert check(scene(**columns)) == []


def test_skips_without_a_log() -> None:
    assert check(evidence()) == [Skipped("no kernel log")]


def test_fires_on_the_counters_of_the_published_study() -> None:
    (found,) = check(evidence(aggregates=STUDY))
    assert found.message == (
        "Prague's classic-ECN fallback misfired: it made 485 of 488 reductions at a score above 8 "
        "although RTT deviation was below 750 us in 2,324 of 2,324 steps (mean 42.7 us) and queue "
        "delay below 2 ms in 2,321 of 2,324 (mean 55.7 us)."
    )


def test_counters_of_one_kind_say_what_they_lack() -> None:
    cuts = {name: value for name, value in STUDY.items() if "sticky" in name}
    inputs = {name: value for name, value in STUDY.items() if name.startswith(("@mdev", "@sd"))}
    (half,) = check(evidence(aggregates=cuts))
    assert half.severity is Severity.NOTICE
    assert [m.value for m in half.measures] == [485 / 488]
    idle = cuts | {"@c_sticky": 0}
    reasons = {
        "the counters show the detector's inputs, not its score": inputs,
        "the kernel log holds only counters": idle,
    }
    for reason, counters in reasons.items():
        assert check(with_fallback(evidence(aggregates=counters), strict=True)) == [Skipped(reason)]


def test_fires_where_one_input_is_high_and_correct_thresholds_stay_below_8() -> None:
    (found,) = check(scene(mdev_us=140.0, depth_us=6000.0, build="24-bit buggy"))
    assert "although correct thresholds keep the score below 8 at this queue delay (6 ms" in (
        found.message
    )


def test_a_deep_queue_that_nothing_shows_to_be_l4s_is_no_misfire() -> None:
    """Behind PIE, hidden by jitter, the buggy build was accused of what it did right."""
    deep = steps(mdev_us=140.0, depth_us=6000.0, build="24-bit buggy")
    (found,) = check(evidence(flows=FLOWS, detector=deep))
    assert isinstance(found, Skipped)
    assert "not shown to be L4S" in found.reason


def test_the_parameter_of_the_host_shows_in_its_other_flows() -> None:
    """Short flows hardly reduce; those of a longer one show that the score is only observed."""
    table = steps(flow=[0] * 100 + [1] * 8, ts_ns=[*range(100), *range(8)], count=108)
    cuts = frame(
        "cuts", flow=0, ts_ns=list(range(20)), origin="kernel", classic_ecn=17.0, law="alpha/2"
    )
    found = check(evidence(flows=FLOWS, detector=table, cuts=cuts))
    assert [one.severity for one in found] == [Severity.NOTICE, Severity.NOTICE]


def test_no_time_above_8_is_silent() -> None:
    assert check(evidence(flows=FLOWS, detector=steps(5, score=[0.0] * 4 + [9.0]))) == []


def test_silent_on_short_flows_that_no_mark_meets() -> None:
    """Simulated run s8101-197: four steps of a short flow, two of them above 8."""

    def found(count: int, marks: int):
        table = steps(count, score=[0.0, *[17.0] * (count - 1)])
        kernel = log(3, ts_ns=[0, STEP_NS, 2 * STEP_NS], delivered_ce=[3, 3, 3 + marks])
        return check(evidence(flows=FLOWS, detector=table, kernel=kernel))

    assert found(4, 0) == []
    assert [one.severity for one in found(20, 0)] == [Severity.NOTICE]
    assert [one.severity for one in found(4, 2)] == [Severity.ERROR]


@pytest.mark.parametrize("marks", [0, 3, None])
def test_a_score_with_no_mark_to_respond_to_backs_nothing_off(marks: int | None) -> None:
    """The path zeroed ACE: three marks were read into the handshake, and none came after."""
    late = [0.0] * 20 + [17.0] * 80
    since = 20 * STEP_NS
    counted = None if marks is None else [3, 3, 3 + marks]
    kernel = log(3, ts_ns=[0, since, since + STEP_NS], delivered_ce=counted)
    (found,) = check(evidence(flows=FLOWS, detector=steps(score=late), kernel=kernel))
    silent = marks == 0
    assert found.severity is (Severity.NOTICE if silent else Severity.ERROR)
    assert ("with no mark to respond to" in found.message) is silent
    assert ("backed off" in found.message) is not silent


def test_fires_and_states_the_part_that_correct_thresholds_explain() -> None:
    """Run s1501-129: "keep the score below 8", beside 46 % of the steps above it."""
    partly = [17.0] * 40 + [0.0] * 60
    (found,) = check(scene(depth_us=6000.0, build="24-bit buggy", score_fixed=partly))
    assert "although correct thresholds put it there in 40 % of its steps only, at this" in (
        found.message
    )
