"""Scaling bug: by residue, by replay, by sums of steps."""

from l4strace.model import Confidence, Skipped
from l4strace.rules.l4s302_fallback_scaling_bug import check
from tests.support.frames import evidence
from tests.support.scenes import bottleneck, steps, two_flows

STUDY = {
    "@depth_change_pos": 2326,
    "@depth_change_pos_sum": 104982163618,
    "@mdev_change_neg": 2,
    "@mdev_change_neg_sum": 10014682,
    "@mdev_change_pos": 2324,
    "@mdev_change_pos_sum": 92448787580,
}


def test_fires_on_a_residue() -> None:
    build = [None] * 90 + ["24-bit buggy"] * 10
    (found,) = check(evidence(detector=steps(build=build)))
    assert found.confidence is Confidence.HIGH
    assert found.measures[0].value == 10


def test_names_where_the_bug_is_right_by_accident() -> None:
    table = steps(build="24-bit buggy", score_fixed=[17.0] * 96 + [0.0] * 4)
    tables = {"detector": table}
    (found,) = check(two_flows(**tables, bottlenecks=bottleneck("classic")))
    assert found.message.endswith(
        " Here it is right by accident: behind a classic AQM the score should be above 8 (with "
        "correct thresholds it is in 96 % of the steps)."
    )
    for kind in ("l4s", "per-flow"):
        (found,) = check(two_flows(**tables, bottlenecks=bottleneck(kind)))
        assert "accident" not in found.message


def test_fires_and_says_what_the_bug_does_where_the_aqm_is_not_known() -> None:
    """Simulated run s4417-022: the log kept silent on what packets alone showed."""
    high = {"mdev_us": 2_000.0, "depth_us": 9_000.0}
    table = steps(build="24-bit buggy", score_fixed=[17.0] * 60 + [0.0] * 40, **high)
    (found,) = check(two_flows(detector=table, bottlenecks=bottleneck("unknown")))
    assert found.message.endswith(
        " It backed off like a classic flow; whether the bottleneck calls for that is not known."
    )


def test_counts_only_steps_of_that_build() -> None:
    build = [None] * 80 + ["24-bit fixed"] * 5 + ["24-bit buggy"] * 15
    (found,) = check(evidence(detector=steps(build=build)))
    assert found.measures[0].value == 15


def test_fires_on_replay_with_less_confidence() -> None:
    (found,) = check(evidence(detector=steps()))
    assert found.confidence is Confidence.MEDIUM


def test_silent_for_other_builds_and_for_scores_that_correct_references_give() -> None:
    assert check(evidence(detector=steps(build="20-bit"))) == []
    assert check(evidence(detector=steps(score_fixed=17.0))) == []
    assert check(evidence(detector=steps(score=0.0, score_buggy=17.0))) == []


def test_fires_on_the_sums_of_the_published_study() -> None:
    (found,) = check(evidence(aggregates=STUDY))
    assert "5,007,341" in found.message


def test_sums_of_a_correct_24_bit_build_prove_nothing() -> None:
    right = STUDY | {"@mdev_change_neg_sum": 2 * 80_117_470}
    assert check(evidence(aggregates=right)) == [Skipped("the kernel log holds only counters")]


def test_fires_on_one_step() -> None:
    """Run s1501-011: "1 steps change the score"."""
    (found,) = check(evidence(detector=steps(build=[None] * 99 + ["24-bit buggy"])))
    assert "1.61 us of queue delay instead of 0.75 ms and 2 ms" in found.message
    assert "; 1 step changes the score as only this bug does." in found.message
