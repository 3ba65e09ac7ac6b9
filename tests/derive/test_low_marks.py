"""Marks at an L4S delay, and what other flows of the path show (whole scenes: test_bottlenecks)."""

from __future__ import annotations

from typing import Any

import pytest

from l4strace.derive import border, low_marks
from l4strace.schema.words import CLASSIC_OR_PER_FLOW
from tests.support.features import PLAIN
from tests.support.frames import stack
from tests.support.queues import CUBIC, PRAGUE, marked_above, of, sawtooth, verdict


def features(**changed: Any) -> dict[str, Any]:
    """An ECT(1) flow marked from 1 ms on, and an ECT(0) flow that waits longer, unmarked."""
    plain = {
        "marked_as": "ect1",
        "began": True,
        "flat": True,
        "floor_us": 5_000.0,
        "seconds": 10.0,
        "rounds": 1_000,
        "marked_rounds": 400,
        "marked_parts": 10,
        "marking_delay_us": 1_000.0,
        "marking_median_us": 1_200.0,
        "high_rounds": 0,
        "high_unmarked": 0,
        "high_acked": 0,
        "high_marks": 0,
        "classic_slots": 50,
        "classic_ect0": 50,
        "classic_gap": 0.9,
        "classic_corr": 0.0,
        "classic_queue_us": 15_000.0,
        "classic_own_queue_us": 800.0,
        "classic_marks": 0,
        "classic_marked_slots": 0,
        "classic_own_marked": 40,
        "classic_mark_delay_us": None,
        "classic_high": 100,
        "classic_high_unmarked": 100,
        "classic_stepped": 0.0,
    }
    return PLAIN | plain | changed


SHARED = {
    "classic_gap": 0.03,
    "classic_corr": 0.99,
    "classic_own_queue_us": 15_000.0,
    "high_rounds": 400,
    "high_acked": 800,
    "high_marks": 800,
}
"""Both wait 15 ms at the same time; the ECT(1) flow is marked all along."""

AT_TIMES = SHARED | {"high_marks": 50, "far_unmarked": 300, "path_far_unmarked": 500}
"""The same where most of that time nobody is marked: another queue was the bottleneck then."""


def test_what_waits_for_delayed_acks_has_no_queue_of_its_own() -> None:
    """Lab run s2001-082: CUBIC of two packets a round trip, 4.4 ms behind a step of 1 ms."""
    beside = {"classic_marks": 30, "classic_marked_slots": 19, "classic_mark_delay_us": 1_150.0}
    beside |= {"classic_high": 0, "classic_high_unmarked": 0}
    shown = {"ect0_marks": 37, "ect0_ratio": 8.9}
    assert low_marks.verdict(features(**beside, **shown))[0] == "unknown"


def test_an_own_short_queue_is_that_of_an_l4s_aqm() -> None:
    assert low_marks.verdict(features())[:2] == ("l4s", 0.95)


def test_a_step_in_a_queue_that_all_share_is_shallow() -> None:
    assert low_marks.verdict(features(**SHARED))[:2] == ("shallow", 0.7)


@pytest.mark.parametrize(("slots", "kind"), [(35, "shallow"), (5, "l4s")])
def test_marks_of_both_kinds_at_the_same_times_come_from_one_step(slots: int, kind: str) -> None:
    also = {"classic_marks": 99, "classic_marked_slots": slots, "classic_mark_delay_us": 1_100.0}
    assert low_marks.verdict(features(**AT_TIMES, **also))[0] == kind


LATE = {"began": False, "flat": False}


def test_a_capture_that_began_late_hides_queue() -> None:
    assert low_marks.verdict(features(**LATE, classic_slots=0))[0] == "unknown"


def test_marks_in_the_shorter_of_two_queues_are_l4s_however_long_both_are() -> None:
    assert low_marks.verdict(features(**LATE))[:2] == ("l4s", 0.7)


@pytest.mark.parametrize(
    "changed",
    [
        {"classic_ect0": 0},  # Not-ECT: no AQM may mark it
        {"classic_marked_slots": 20, "classic_marks": 20},
        {"marked_rounds": 100},
        {"classic_queue_us": 2_000.0},
    ],
)
def test_the_shorter_queue_shows_nothing_otherwise(changed: dict[str, Any]) -> None:
    assert low_marks.verdict(features(**LATE, **changed))[0] == "unknown"


def test_another_flow_beside_marked_ect1_flows_meets_an_l4s_aqm() -> None:
    beside = {"marked_as": "ect0", "scalable_slots": 50, "scalable_marked_slots": 20}
    found = low_marks.beside_l4s(features(**beside, scalable_mark_delay_us=900.0))
    assert found is not None
    assert found[0] == "l4s"
    assert low_marks.beside_l4s(features(**beside, scalable_mark_delay_us=9_000.0)) is None
    assert low_marks.beside_l4s(features(scalable_mark_delay_us=900.0)) is None
    # Run s8201-066: packets that cannot be marked, in a queue shorter than where marks begin.
    plain = beside | {"marked_as": "not_ect", "scalable_mark_delay_us": 900.0}
    assert low_marks.beside_l4s(features(**plain, scalable_own_queue_us=800.0)) is None
    assert low_marks.beside_l4s(features(**plain, scalable_own_queue_us=1_000.0)) is not None
    # Lab run s1201-053: the ECT(0) packets are marked as often.
    alike = beside | {"ect0_ratio": 1.05, "ect0_marks": 600}
    assert low_marks.beside_l4s(features(**alike, scalable_mark_delay_us=900.0)) is None
    # Lab run s1301-131: on a slow link CoDel marks below the border.
    slow = beside | {"mark_limit_us": 8_400.0}
    assert low_marks.beside_l4s(features(**slow, scalable_mark_delay_us=7_300.0)) is None
    assert low_marks.beside_l4s(features(**slow, scalable_mark_delay_us=4_900.0)) is not None


def test_ect0_packets_marked_as_often_exclude_a_coupled_dual_queue() -> None:
    """Lab runs s701-049 and s801-115: a step marked both, in a queue that was mostly empty."""
    step = {"ect0_marks": 50, "ect0_ratio": 5.9, "classic_slots": 0}
    assert low_marks.verdict(features(**step))[:2] == ("shallow", 0.6)
    assert low_marks.verdict(features(**step | {"ect0_ratio": 0.25}))[0] == "l4s"
    assert low_marks.verdict(features(**step | {"ect0_ratio": 0.4}))[0] == "shallow"
    assert low_marks.verdict(features(**step | {"ect0_marks": 9}))[0] == "l4s"


@pytest.mark.parametrize(
    ("share", "uneven", "kind"),
    [(0.86, 4.4, "shallow"), (0.86, 0.1, "unknown"), (0.23, 4.4, "l4s"), (None, 4.4, "l4s")],
)
def test_no_dual_queue_marks_most_packets_of_an_ect0_flow(
    share: float | None, uneven: float, kind: str
) -> None:
    """Lab run s1601-005: flows of a packet a round trip, which BBR hides in the ratio."""
    beside = {"gap": 0.47, "corr": 0.81, "queue_us": 8_200.0, "own_queue_us": 7_200.0}
    beside |= {"marks": 536, "marked_slots": 48, "waiting": 28, "uneven": uneven}
    named = {f"classic_{name}": value for name, value in beside.items()}
    shown = {"ect0_marks": 589, "ect0_ratio": 0.04, "ect0_most": share}
    verdict = low_marks.verdict(features(**named, **shown))
    assert verdict[0] == kind
    assert ("86 % of an ECT(0) flow's packets are marked" in verdict[2]) == (share == 0.86)


def test_seldom_marks_of_both_at_one_delay_are_one_step() -> None:
    """Lab run s1601-113: "classic flows are hardly marked", two and a half times as often."""
    beside = {"gap": 0.304, "corr": 0.83, "queue_us": 350.0, "own_queue_us": 260.0}
    beside |= {"marks": 12, "marked_slots": 9, "mark_delay_us": 1_020.0, "high": 0}
    beside |= {"high_unmarked": 0}
    named = {f"classic_{name}": value for name, value in beside.items()}
    shown = {"ect0_marks": 14, "ect0_ratio": 2.5}
    assert low_marks.verdict(features(**named, **shown))[0] == "shallow"
    assert low_marks.verdict(features(**named, **shown | {"ect0_ratio": 0.1}))[0] == "l4s"


OFTEN = {
    "ect0_marks": 99,
    "ect0_ratio": 2.0,
    "classic_marks": 99,
    "classic_marked_slots": 30,
    "classic_mark_delay_us": 1_100.0,
    "classic_stepped": 0.9,
    "classic_high_unmarked": 0,
    "classic_own_queue_us": 300.0,
}
"""ECT(0) packets are marked at the same delay, twice as often."""


@pytest.mark.parametrize(("queue", "kind"), [(500.0, "shallow"), (1_500.0, "per-flow")])
def test_delays_below_the_time_of_a_packet_show_no_queue_each(queue: float, kind: str) -> None:
    assert low_marks.verdict(features(**OFTEN, classic_queue_us=queue))[0] == kind


def test_delays_that_differ_by_less_than_a_packet_show_no_queue_each() -> None:
    """Lab run s1501-125: a step that all share at 2.8 Mbit/s, moved by 2.6 ms of jitter."""
    near = OFTEN | {"classic_gap": 0.19, "classic_corr": 0.12, "classic_queue_us": 2_900.0}
    near |= {"classic_own_queue_us": 2_600.0}
    assert low_marks.verdict(features(**near))[:2] == ("shallow", 0.6)
    assert low_marks.verdict(features(**near, serialisation_us=500.0))[0] == "per-flow"


@pytest.mark.parametrize(("ratio", "kind"), [(0.05, "l4s"), (0.7, "shallow")])
def test_ect0_marks_are_seldom_only_beside_those_of_ect1(ratio: float, kind: str) -> None:
    """Lab run s1501-095: one in ten rounds has a mark, and those of Prague are as few."""
    ect0 = {"marked_as": "ect0", "marking_delay_us": 2_700.0, "marked_rounds": 100}
    ect0 |= {"ect0_marks": 99, "ect0_ratio": ratio, "classic_slots": 0, "stepped": 0.0}
    beside = {"slots": 94, "gap": 0.04, "corr": 0.5, "marks": 99, "mark_delay_us": 1_100.0}
    beside |= {"queue_us": 2_200.0, "own_queue_us": 2_200.0, "high": 0, "high_unmarked": 0}
    named = {f"scalable_{name}": value for name, value in beside.items()}
    assert low_marks.verdict(features(**ect0, **named))[0] == kind


def test_a_path_that_clears_feedback_hides_how_classic_flows_are_marked() -> None:
    """Lab run s1501-010: the marks that a step put on CUBIC never came back."""
    beside = {"cleared": True, "classic_queue_us": 400.0, "classic_own_queue_us": 400.0}
    kind, _, reason = low_marks.verdict(features(**beside))
    assert kind == "unknown"
    assert reason.startswith("Cannot be determined: marks begin at")
    plain = {"classic_ect0": 0, "classic_queue_us": 1_500.0}
    for heard in ({"classic_marks": 1}, plain, {"classic_queue_us": 15_000.0}):
        assert low_marks.verdict(features(**beside | heard))[0] == "l4s"


def test_a_slow_link_whose_far_longer_queues_went_unmarked_is_not_l4s() -> None:
    """Lab run s801-153: fq_codel at 2.4 Mbit/s marks below the time of two packets."""
    slow = {"mark_limit_us": 11_000.0, "marking_delay_us": 9_900.0, "classic_slots": 0}
    assert low_marks.verdict(features(**slow))[0] == "l4s"
    assert low_marks.verdict(features(**slow, far_unmarked=41))[0] == "unknown"
    # Lab run s1301-131: 4 marks of 52 packets beyond the border.
    few = {"high_acked": 52, "high_marks": 4, "high_rounds": 2}
    assert low_marks.verdict(features(**slow, **few))[0] == "unknown"
    assert low_marks.verdict(features(**slow | {"marking_delay_us": 4_500.0}, **few))[0] == "l4s"


def test_a_slow_link_does_not_show_a_shallow_aqm_by_ect0_packets() -> None:
    ect0 = features(marked_as="ect0", scalable_mark_delay_us=None, scalable_slots=0)
    ect0 |= {"classic_feedback": True, "stepped": 0.9}
    assert low_marks.verdict(ect0)[0] == "shallow"
    slow = {"mark_limit_us": 13_900.0, "marking_delay_us": 11_500.0}
    assert low_marks.verdict(ect0 | slow)[0] == "unknown"
    # Lab run s1601-026: PI2 goes on marking when the queue of a slow start has drained.
    assert low_marks.verdict(ect0 | {"stepped": 0.52})[0] == "unknown"
    # Lab run s1401-093: BBR never answers, so that ECE comes back whatever the queue.
    assert low_marks.verdict(ect0 | {"marked_rounds": 850})[0] == "unknown"


def test_early_marks_of_ect0_packets_leave_open_whether_the_queue_is_shared() -> None:
    """Lab run s1501-112: "a classic AQM" behind fq_codel, after a fiftieth of its packets."""
    ect0: dict[str, Any] = {"marked_as": "ect0", "far_unmarked": 40, "classic_slots": 0}
    ect0["scalable_mark_delay_us"] = None
    assert low_marks.verdict(features(**ect0))[:2] == (CLASSIC_OR_PER_FLOW, 0.6)
    beside = {"slots": 50, "gap": 0.5, "corr": 0.2, "marks": 0}
    beside |= {"queue_us": 2_200.0, "own_queue_us": 2_200.0}
    named = {f"scalable_{name}": value for name, value in beside.items()}
    assert low_marks.verdict(features(**ect0, **named))[0] == "unknown"


def test_flows_that_cannot_be_marked_and_wait_as_long_leave_the_kind_open() -> None:
    """Lab run s1401-064 with a third of its ACKs: a step, and CUBIC without ECN in its queue."""
    beside = SHARED | {"classic_gap": 0.27, "classic_corr": 0.65, "classic_ect0": 0}
    assert low_marks.verdict(features(**beside))[0] == "unknown"
    assert low_marks.verdict(features(**beside | {"classic_gap": 0.5}))[0] == "l4s"
    short = {"classic_own_queue_us": 2_000.0, "classic_queue_us": 2_100.0}
    assert low_marks.verdict(features(**beside | short))[0] == "l4s"


def test_flows_that_cannot_be_marked_and_wait_less_leave_the_kind_open() -> None:
    """A step on all packets, and a Not-ECT flow that hardly fills the queue (simulated)."""
    beside = {"classic_ect0": 0, "classic_own_queue_us": 800.0, "classic_queue_us": 144.0}
    assert low_marks.verdict(features(**beside))[0] == "unknown"
    assert low_marks.verdict(features(**beside | {"classic_queue_us": 2_700.0}))[0] == "l4s"
    # Run s8201-066: both mostly wait far less than where marks begin.
    less = beside | {"classic_own_queue_us": 194.0, "classic_queue_us": 209.0}
    assert low_marks.verdict(features(**less))[0] == "unknown"


def test_a_flow_marked_at_a_fraction_of_the_rate_of_others_has_no_fair_queue() -> None:
    """Lab run s1001-029: beside BBR behind DualPI2, whose queues both hardly stand."""
    beside = OFTEN | {"ect0_ratio": 0.01, "classic_queue_us": 1_500.0}
    left_behind = {"classic_outrun": 40, "classic_own_marked": 40}
    assert low_marks.verdict(features(**beside))[0] == "per-flow"
    assert low_marks.verdict(features(**beside | left_behind))[0] == "l4s"
    # Run s8202-052: on a slow link marks at such rates show nothing, but those of a few slots do.
    few = left_behind | {"serialisation_us": 2_400.0, "classic_waiting": 6, "classic_uneven": 3.7}
    assert low_marks.verdict(features(**beside | few))[0] == "l4s"
    # Run s8101-082: ECT(0) packets are marked often, too.
    often = beside | left_behind | {"ect0_ratio": 0.36}
    assert low_marks.verdict(features(**often))[0] == "unknown"


def test_delays_alike_beyond_what_an_l4s_aqm_allows_are_no_dual_queue() -> None:
    """Lab run s1601-095: BBR takes nearly all of a step that Prague shares."""
    mates = {"slots": 20, "gap": 0.27, "corr": 0.93, "apart": 0.11, "marks": 46, "high": 14}
    mates |= {"queue_us": 5_400.0, "own_queue_us": 6_000.0, "high_unmarked": 0, "stepped": 1.0}
    mates |= {"marked_slots": 18, "own_marked": 20, "mark_delay_us": 1_800.0, "outruns": 18}
    named = {f"scalable_{name}": value for name, value in mates.items()}
    ect0 = {"marked_as": "ect0", "classic_slots": 0, "stepped": 1.0}
    assert low_marks.verdict(features(**ect0, **named))[0] == "unknown"
    short = {"scalable_queue_us": 540.0, "scalable_own_queue_us": 600.0}
    assert low_marks.verdict(features(**ect0, **named | short))[0] == "l4s"


def test_a_queue_that_never_drains_and_marks_everybody_is_one_step() -> None:
    """Lab run s1001-008: BBR beside Prague behind CoDel with ce_threshold, a mark every round."""
    beside = SHARED | {"classic_gap": 0.09, "classic_corr": 0.69, "classic_mark_delay_us": 8_000.0}
    beside |= {"classic_high_unmarked": 0, "classic_marks": 99, "classic_marked_slots": 50}
    assert low_marks.verdict(features(**beside))[:2] == ("shallow", 0.6)
    assert low_marks.verdict(features(**beside | {"classic_high_unmarked": 90}))[0] == "l4s"


def test_flows_that_cannot_be_marked_are_not_hardly_marked() -> None:
    waits = {"classic_queue_us": 2_000.0, "classic_own_queue_us": 1_000.0}
    for markable, words in ((50, "is hardly marked"), (0, "cannot be marked")):
        kind, _, reason = low_marks.verdict(features(**waits, classic_ect0=markable))
        assert kind == "l4s"
        assert words in reason


def test_unequal_rates_beside_marks_of_all_are_one_step() -> None:
    """Lab run s1201-053: delays of a step at 2.9 Mbit/s move against each other."""
    rates = {"classic_waiting": 104, "classic_uneven": 0.41, "classic_unlike": 0.13}
    apart = features(**OFTEN, **rates, classic_queue_us=1_500.0)
    assert low_marks.verdict(apart)[0] == "shallow"


def test_a_delay_that_no_rtt_shows_is_no_number() -> None:
    """Lab runs s1101-096: "Marks begin at 7.41 us", s1401-149: a part of one packet's 4.2 ms."""
    fast = low_marks.verdict(features(marking_delay_us=7.41, serialisation_us=50.0))[2]
    assert fast.startswith("Marks begin below 100 us of queue delay")
    slow = low_marks.verdict(features(marking_delay_us=483.0, serialisation_us=900.0))[2]
    assert slow.startswith("Marks begin below 900 us (one packet) of queue delay")


def test_classic_feedback_bounds_how_often_ect0_packets_are_marked() -> None:
    """Lab run s1401-137: "2.7 times as often", where it was 11 times."""
    shown = {"ect0_ratio": 2.7, "ect0_marks": 40}
    bound = border.alike(PLAIN | shown)
    assert "marked at least 2.7 times as often" in bound
    assert "marked 2.7 times as often" in border.alike(PLAIN | shown | {"ect0_counted": True})


def test_ect1_flows_too_short_to_be_compared_may_have_a_queue_of_their_own() -> None:
    """Lab run s1501-055: five CUBIC flows in the classic queue of DualPI2."""
    queue = sawtooth(4_000, 8_000)
    cubic = of(queue, flow=1, ce_best=None, ece_acks=marked_above(queue, 7_000, 1))
    assert verdict(1, directions=CUBIC, rounds=cubic)["kind"] == CLASSIC_OR_PER_FLOW
    short = of([200.0] * 12, acked_packets=40)
    row = verdict(1, directions=stack(PRAGUE, CUBIC), rounds=stack(short, cubic))
    assert row["kind"] == "unknown"
    assert "too short" in str(row["reason"])


def test_a_flow_that_never_waited_beyond_border_and_noise_was_stopped_by_a_step() -> None:
    """Lab runs s1601-141 and s1001-106; s1001-044 (fq_codel) has as short a queue and 8 marks."""
    noisy = {"marked_as": "ect1", "began": True, "marks": 30, "queue_max_us": 12_400.0}
    noisy |= {"marking_delay_us": 8_000.0, "noise_us": 11_000.0, "high_acked": 0, "high_marks": 0}
    shown = low_marks.behind_noise(PLAIN | {"classic_slots": 0} | noisy)
    assert shown is not None
    assert shown[:2] == ("l4s", 0.6)
    assert shown[2].endswith("waited longer than 12.4 ms, slow start and jitter included.")
    for changed in (
        {"marks": 29},
        {"queue_max_us": 14_100.0},
        {"began": False},
        {"marked_as": "ect0"},
    ):
        assert low_marks.behind_noise(PLAIN | noisy | changed) is None


def test_a_step_shows_by_every_packet_that_waited_longer() -> None:
    """Lab run s1801-064: BBR keeps 14 ms of queue behind a step at 1 ms that all share."""
    stands = features(
        marked_as="ect0",
        rounds=40,
        marked_rounds=40,
        marks=26_201,
        marking_median_us=13_581.0,
        high_rounds=40,
        high_acked=26_201,
        high_marks=26_201,
        serialisation_us=217.0,
        scalable_mark_delay_us=None,
    )
    kind, _, reason = low_marks.verdict(stands)
    assert kind == "shallow"
    assert reason.endswith("Every packet that waited longer was marked.")
    kind, _, _ = low_marks.verdict(stands | {"high_marks": 20_000})
    assert kind == "classic"
