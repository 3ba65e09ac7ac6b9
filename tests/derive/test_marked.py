"""What marks show, from the features of one direction (whole scenes: test_bottlenecks)."""

from __future__ import annotations

from typing import Any

import pytest

from l4strace.derive import marked
from l4strace.schema.words import CLASSIC_OR_PER_FLOW
from tests.support.features import PLAIN


def features(**changed: Any) -> dict[str, Any]:
    """A lone ECT(1) flow whose marks come at 8 ms of queue delay."""
    plain = {
        "marked_as": "ect1",
        "marks": 20,
        "all_marks": 20,
        "acked": 5_000,
        "queue_delay_us": 7_000.0,
        "queue_high_us": 9_000.0,
        "marking_delay_us": 8_000.0,
        "marking_median_us": 8_500.0,
        "first_marking_us": 8_000.0,
        "high_rounds": 50,
        "high_acked": 1_000,
        "high_marks": 20,
        "high_unmarked": 40,
        "classic_slots": 0,
        "began": True,
    }
    return PLAIN | plain | changed


def test_deep_marks_of_a_lone_flow_are_those_of_one_queue_or_of_one_each() -> None:
    """Lab run s1401-023: CoDel, which marks by the same law in each queue of fq_codel."""
    kind, confidence, reason = marked.verdict(features())
    assert (kind, confidence) == (CLASSIC_OR_PER_FLOW, 0.7)
    assert reason.endswith("no other long flow shows whether others share the queue.")


BEGUN = {"first_slots": 30, "first_met": 0, "first_passed": 30, "first_apart_us": 9_000.0}
"""Thirty short connections began while the flow waited, and none of them did."""


def test_short_connections_show_whose_queue_it_is() -> None:
    """Lab runs s1401-048 (fq_codel) and s1401-036 (RED)."""
    assert marked.verdict(features(**BEGUN))[:2] == ("per-flow", 0.7)
    waited = BEGUN | {"first_met": 30, "first_passed": 0}
    assert marked.verdict(features(**waited))[:2] == ("classic", 0.7)
    # Lab run s1401-027: PIE, and the delays of the long flows differ.
    long = {"scalable_slots": 30, "scalable_gap": 0.29, "scalable_corr": 0.59}
    long |= {"scalable_queue_us": 60_000.0, "scalable_own_queue_us": 80_000.0}
    assert marked.verdict(features(**long))[0] == "unknown"
    assert marked.verdict(features(**long, **waited))[0] == "classic"


def test_marks_of_a_flow_without_ect1_show_nothing_of_those_that_do_not_wait() -> None:
    """Lab run s1301-011: one packet of CUBIC marked in the classic queue of DualPI2."""
    beside = {"marked_as": "ect0", "scalable_slots": 30, "scalable_gap": 0.5, "noise_us": 7_000.0}
    beside |= {"marking_delay_us": 43_700.0, "scalable_corr": 0.1, "scalable_high_unmarked": 0}
    beside |= {"scalable_queue_us": 1_500.0, "scalable_own_queue_us": 1_800.0}
    beside |= {"scalable_marks": 0, "scalable_mark_delay_us": None, "scalable_high": 0}
    kind, _, reason = marked.verdict(features(**beside))
    assert kind == "unknown"
    assert "a queue of their own" in reason
    waited = beside | {"scalable_high_unmarked": 3}
    assert marked.verdict(features(**waited))[0] == CLASSIC_OR_PER_FLOW


def test_hardly_a_mark_in_a_long_start_shows_no_step() -> None:
    """Lab run s1301-141: 7 marks of 449 packets beyond the border, the first at 61 ms."""
    start = {"marks": 0, "all_marks": 7, "first_marking_us": 61_000.0, "high_acked": 449}
    assert marked.verdict(features(**start, high_marks=7))[:2] == (CLASSIC_OR_PER_FLOW, 0.5)
    # Lab run s1101-159: DualPI2, and a link that holds every packet for 5 ms.
    near = start | {"first_marking_us": 5_170.0, "mark_limit_us": 4_840.0}
    assert marked.verdict(features(**near, high_marks=8))[0] == "unknown"


@pytest.mark.parametrize(
    "changed",
    [
        {"high_marks": 990},  # every packet beyond the border is marked: so may those below be
        {"high_acked": 0, "high_marks": 0},
        {"classic_feedback": True, "high_unmarked": 2},
    ],
)
def test_marks_of_every_long_queue_show_no_threshold(changed: dict[str, Any]) -> None:
    assert marked.verdict(features(**changed))[0] == "unknown"


def test_a_queue_that_passed_the_border_unmarked_shows_one() -> None:
    passed = features(high_acked=0, high_marks=0, crossed=3)
    assert marked.verdict(passed)[0] == CLASSIC_OR_PER_FLOW
    # Lab run s1601-047: DualPI2, and a sender that no mark reaches never lets the queue drain.
    all_marked = features(high_marks=1_000, crossed=3)
    assert marked.verdict(all_marked)[0] == "unknown"


def test_one_mark_counts_where_many_packets_waited_without() -> None:
    few = {"marks": 1, "all_marks": 1, "high_marks": 1, "marking_delay_us": 5_000.0}
    kind, confidence, _ = marked.verdict(features(**few, first_marking_us=5_000.0))
    assert (kind, confidence) == (CLASSIC_OR_PER_FLOW, 0.5)
    assert marked.verdict(features(**few, first_marking_us=5_000.0, high_acked=50)) is None


def test_no_marks_show_nothing() -> None:
    assert marked.verdict(features(marks=0, all_marks=0, high_marks=0)) is None


SCALABLE = {
    "marked_as": "ect0",
    "scalable_slots": 50,
    "scalable_marks": 500,
    "scalable_marked_slots": 40,
    "scalable_mark_delay_us": 5_500.0,
    "scalable_queue_us": 4_000.0,
    "scalable_own_queue_us": 9_000.0,
    "scalable_high": 400,
    "scalable_high_unmarked": 0,
    "scalable_gap": 0.6,
    "scalable_corr": 0.1,
}
"""An ECT(0) flow beside ECT(1) flows, each in its queue."""

NOISY = {"marking_delay_us": 18_000.0, "noise_us": 5_000.0, "queue_high_us": 20_000.0}


def test_thresholds_apart_are_two_queues_although_noise_moves_them() -> None:
    assert marked.verdict(features(**SCALABLE | NOISY))[:2] == ("l4s", 0.6)


def test_an_ect1_flow_that_waits_long_without_marks_meets_no_step() -> None:
    left = features(**SCALABLE | NOISY | {"scalable_high_unmarked": 150})
    assert marked.verdict(left)[0] == "per-flow"


def test_late_marks_in_an_own_queue_beside_early_marks_of_ect1_are_l4s() -> None:
    low = SCALABLE | {"scalable_mark_delay_us": 900.0}
    assert marked.verdict(features(**low))[:2] == ("l4s", 0.6)
    assert marked.verdict(features(**SCALABLE))[0] == "per-flow"


def test_ect1_flows_keep_the_border_of_the_usual_rate() -> None:
    """Lab run s1901-146: RED; the ECT(0) flow was marked while two packets took 15 ms."""
    apart = SCALABLE | {"mark_limit_us": 15_456.0, "marking_delay_us": 201_742.0}
    assert marked.verdict(features(**apart, serialisation_us=7_100.0))[0] == "l4s"
    assert marked.verdict(features(**apart, serialisation_us=1_200.0))[0] == "per-flow"


def test_early_marks_of_ect0_packets_too_exclude_a_coupled_dual_queue() -> None:
    """Lab run s801-158: a step marked both flows while they started, and then neither."""
    early = {"marks": 0, "all_marks": 3, "first_marking_us": 1_100.0, "high_acked": 0}
    assert marked.verdict(features(**early))[0] == "l4s"
    both = features(**early, ect0_marks=10, ect0_ratio=4.5)
    assert marked.verdict(both)[0] == "shallow"
    # Lab run s2001-115: few marks, but no fewer than those of the ECT(1) flow.
    few = {"ect0_marks": 5, "ect0_ratio": 1.7}
    assert marked.verdict(features(**early, **few))[0] == "unknown"
    assert marked.verdict(features(**early, **few | {"ect0_ratio": 0.5}))[0] == "l4s"


def test_early_marks_of_one_flow_show_no_l4s_aqm_where_the_path_clears_those_of_the_others() -> (
    None
):
    early = {"marks": 0, "all_marks": 3, "first_marking_us": 1_100.0, "high_acked": 0}
    beside = {"classic_slots": 36, "classic_ect0": 36, "classic_marks": 0, "cleared": True}
    assert marked.verdict(features(**early, **beside))[0] == "unknown"
    assert marked.verdict(features(**early, **beside | {"classic_ect0": 0}))[0] == "l4s"


TURNS = {"classic_slots": 50, "classic_waiting": 40, "classic_uneven": 0.01, "classic_unlike": 0.3}
"""A classic flow that always waits as well gets the same rate, although its RTT differs."""

BESIDE = {"classic_gap": 0.25, "classic_corr": 0.15, "classic_apart": 0.06, "classic_slots": 72}
BESIDE |= {"classic_queue_us": 17_200.0, "classic_own_queue_us": 18_500.0}


def test_equal_rates_at_unequal_rtts_are_a_queue_per_flow() -> None:
    assert marked.verdict(features(**TURNS))[:2] == ("per-flow", 0.9)
    # Marked at an L4S delay, it may be a dual queue whose coupling makes the rates equal.
    low = TURNS | {"marking_delay_us": 900.0, "classic_marked_slots": 0, "classic_queue_us": 9e3}
    low |= {"classic_own_queue_us": 900.0, "classic_marks": 0, "classic_mark_delay_us": None}
    low |= {"classic_ect0": 50, "flat": True, "marked_parts": 10, "seconds": 10.0}
    assert marked.verdict(features(**low))[0] == "l4s"
    # Lab run s1501-051: at 4.6 Mbit/s CoDel marks below the border.
    slow = {"mark_limit_us": 6_200.0, "marking_delay_us": 5_300.0}
    assert marked.verdict(features(**low | slow))[:2] == ("per-flow", 0.9)


def test_far_marks_of_others_show_no_two_queues_where_ect1_packets_wait_unmarked() -> None:
    """Lab run s1501-051: fq_codel at 4.6 Mbit/s."""
    ect0 = {"marked_as": "ect0", "mark_limit_us": 6_200.0, "marking_delay_us": 16_100.0}
    beside = {"slots": 38, "queue_us": 17_900.0, "own_queue_us": 24_000.0, "gap": 0.32}
    beside |= {"corr": 0.49, "apart": 0.87, "marks": 341, "marked_slots": 34, "high": 191}
    beside |= {"high_unmarked": 21, "mark_delay_us": 5_200.0}
    ect0 |= {f"scalable_{name}": value for name, value in beside.items()}
    ect0["serialisation_us"] = 3_100.0
    assert marked.verdict(features(**ect0))[0] == "l4s"
    assert marked.verdict(features(**ect0, path_far_unmarked=10))[0] == "per-flow"


def test_flows_of_one_class_that_wait_alike_are_not_all() -> None:
    """Lab run s1301-159: fq_codel; ECT(1) flows 21 % apart by chance, classic ones by far."""
    alike = {"slots": 24, "gap": 0.21, "corr": 0.8, "queue_us": 18_900.0, "own_queue_us": 15_900.0}
    mates = {f"scalable_{name}": value for name, value in alike.items()}
    mates |= {"scalable_mark_delay_us": 7_500.0}
    others = BESIDE | {"classic_gap": 0.5, "classic_corr": 0.09, "classic_ect0": 0}
    assert marked.verdict(features(**mates, **others))[:2] == ("classic", 0.9)
    assert marked.verdict(features(**mates, **others | {"classic_apart": 0.57}))[0] == "unknown"


def test_marks_before_those_of_any_codel_show_no_classic_aqm() -> None:
    """Lab run s1401-060: DualPI2 behind a link that releases packets every 7 ms."""
    early = {"marking_delay_us": 3_800.0, "began": True, "flat": True}
    kind, _, reason = marked.verdict(features(**early))
    assert kind == "unknown"
    assert "near the border" in reason
    # Lab run s1501-019, the start left out: others wait as long at the same time.
    beside = BESIDE | {"classic_gap": 0.02, "classic_corr": 0.99, "classic_apart": 0.0}
    assert marked.verdict(features(**early | beside))[:2] == ("classic", 0.9)


def test_unequal_rates_of_one_class_are_one_queue_whatever_the_delays() -> None:
    """Lab run s1001-031: two flows without ECT(1) behind DualPI2, 25 % apart."""
    ect0 = BESIDE | {"marked_as": "ect0", "queue_high_us": 26_000.0}
    assert marked.verdict(features(**ect0))[0] == "per-flow"
    uneven = {"classic_waiting": 35, "classic_uneven": 0.7, "classic_unlike": 0.2}
    assert marked.verdict(features(**ect0, **uneven))[:2] == ("classic", 0.7)


def test_every_packet_marked_after_an_early_first_mark_is_a_step() -> None:
    """Lab run s1001-009: CoDel with ce_threshold 1 ms, whose queue BBR never lets drain."""
    shared = {"classic_gap": 0.08, "classic_corr": 0.95, "classic_slots": 94, "flat": True}
    shared |= {"classic_queue_us": 11_000.0, "classic_own_queue_us": 11_100.0, "seconds": 10.0}
    shared |= {"high_marks": 1_000, "far_unmarked": 0, "marked_parts": 10, "classic_ect0": 94}
    assert marked.verdict(features(**shared, first_marking_us=1_100.0))[:2] == ("shallow", 0.7)
    assert marked.verdict(features(**shared, first_marking_us=5_000.0))[0] == "unknown"


def test_marks_without_an_rtt_take_the_delay_of_the_first_one() -> None:
    """Lab run s1001-079: no ACK with a mark had an RTT but in the start, which failed."""
    few = {"marks": 1, "all_marks": 30, "marking_delay_us": None, "first_marking_us": 17_800.0}
    kind, _, reason = marked.verdict(features(**few))
    assert kind == CLASSIC_OR_PER_FLOW
    assert "17.8 ms" in reason


def test_noise_does_not_hide_a_step_that_marks_every_longer_wait() -> None:
    """Lab run s1001-136: DualPI2 and 3 ms of jitter, and each of 3,783 late packets was marked."""
    noisy = {"marking_delay_us": 3_060.0, "noise_us": 4_200.0, "high_marks": 990, "flat": False}
    kind, confidence, reason = marked.verdict(features(**noisy))
    assert (kind, confidence) == ("l4s", 0.6)
    assert "Every packet that waited longer" in reason
    assert marked.verdict(features(**noisy | {"high_marks": 900}))[0] == "unknown"
    # On a slow link CoDel marks every packet after a few seconds.
    slow = noisy | {"mark_limit_us": 6_200.0, "marking_delay_us": 7_000.0}
    for packet_us, kind in ((2_750.0, "unknown"), (1_600.0, "l4s")):
        assert marked.verdict(features(**slow, serialisation_us=packet_us))[0] == kind


def test_a_mark_or_two_in_a_short_queue_are_those_of_a_step() -> None:
    """Lab runs s1301-080 and s1701-096: two marks at 1 ms, and 0.6 ms of queue at most."""
    once = {"marks": 0, "all_marks": 2, "first_marking_us": 1_000.0, "queue_max_us": 600.0}
    once |= {"high_acked": 0, "high_marks": 0}
    assert marked.verdict(features(**once))[:2] == ("l4s", 0.5)
    assert marked.verdict(features(**once | {"began": False}))[0] == "unknown"
    for changed in ({"queue_max_us": 3_100.0}, {"queue_max_us": None}, {"classic_slots": 10}):
        assert marked.verdict(features(**once | changed)) is None
    assert marked.verdict(features(**once | {"marked_as": "ect0"})) is None


def test_marks_where_most_packets_are_overtaken_show_no_queue() -> None:
    """Lab run s1701-016: DualPI2 and 9 ms of jitter; all RTTs lie at its far end."""
    late = {"late_share": 0.75, "marking_delay_us": 6_800.0, "queue_delay_us": 7_200.0}
    verdict = marked.verdict(features(**late, noise_us=2_800.0))
    assert verdict[0] == "unknown"
    assert "75 % of the packets arrive late" in verdict[2]
    for changed in ({"late_share": 0.4}, {"queue_delay_us": 3_700.0}):
        assert marked.verdict(features(**late | changed))[0] == CLASSIC_OR_PER_FLOW


SHARED = {"classic_gap": 0.24, "classic_corr": 0.82, "classic_apart": 0.03, "classic_slots": 40}
SHARED |= {"classic_queue_us": 16_500.0, "classic_own_queue_us": 15_700.0, "classic_ect0": 0}
SHARED |= {"marking_delay_us": 6_700.0, "noise_us": 4_700.0, "high_acked": 148, "flat": False}


def test_a_queue_that_all_share_and_that_marks_every_wait_is_shallow() -> None:
    """Lab run s1101-138: CoDel with ce_threshold 1 ms; two of its flows are not ECN-capable."""
    shown = SHARED | {"queue_delay_us": 11_500.0, "queue_high_us": 16_000.0}
    shown |= {"classic_high": 0, "classic_high_unmarked": 0}
    assert marked.verdict(features(**shown, high_marks=148))[:2] == ("shallow", 0.7)
    # Were half of its waits unmarked, it would be a classic AQM.
    assert marked.verdict(features(**shown, high_marks=60))[:2] == ("classic", 0.9)


def test_waits_without_marks_beyond_the_noise_show_a_classic_aqm() -> None:
    """Lab run s1101-082: CoDel and 1.2 ms of jitter, 8 marks in 2,573 packets."""
    noisy = {"marking_delay_us": 7_300.0, "noise_us": 4_400.0, "high_marks": 8}
    assert marked.verdict(features(**noisy))[:2] == (CLASSIC_OR_PER_FLOW, 0.7)
    # Lab runs s1401-004 and s1401-080: RED marked an eighth of them, a step marks all.
    assert marked.verdict(features(**noisy | {"high_marks": 130}))[0] == CLASSIC_OR_PER_FLOW
    assert marked.verdict(features(**noisy | {"high_marks": 600}))[0] == "unknown"
    # Where packets overtake others, ACKs wait for the slowest.
    assert marked.verdict(features(**noisy, late_share=0.7))[0] == "unknown"


def test_delays_below_the_noise_do_not_differ() -> None:
    """Lab run s1101-011: PIE at 130 Mbit/s, whose queue is empty after two overshoots."""
    short = {"classic_slots": 49, "classic_gap": 0.49, "classic_corr": -0.07, "noise_us": 640.0}
    short |= {"classic_queue_us": 310.0, "classic_own_queue_us": 220.0, "serialisation_us": 100.0}
    kind, confidence, reason = marked.verdict(features(**short))
    assert (kind, confidence) == (CLASSIC_OR_PER_FLOW, 0.7)
    assert "too little" in reason
    assert marked.verdict(features(**short | {"noise_us": 100.0}))[0] == "per-flow"


def test_flows_that_wait_alike_have_no_queue_each_whatever_another_waits() -> None:
    """Lab run s1101-041: RED and one of six flows with a longer ACK delay."""
    ect1 = {"scalable_slots": 39, "scalable_gap": 0.44, "scalable_corr": 0.62}
    ect1 |= {"scalable_queue_us": 141_000.0, "scalable_own_queue_us": 76_000.0}
    ect1 |= {"scalable_mark_delay_us": 102_000.0, "scalable_apart": 0.83, "marked_as": "ect0"}
    ect0 = {"classic_slots": 39, "classic_gap": 0.03, "classic_corr": 0.99}
    ect0 |= {"classic_queue_us": 76_000.0, "classic_own_queue_us": 76_000.0}
    assert marked.verdict(features(**ect1))[0] == "per-flow"
    assert marked.verdict(features(**ect1, **ect0))[:2] == ("classic", 0.6)


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({}, "l4s"),
        ({"classic_ect0": 0}, "unknown"),
        ({"classic_marked_slots": 10}, "unknown"),
        ({"classic_own_marked": 10}, "unknown"),
        ({"classic_outrun": 10}, "unknown"),
    ],
)
def test_marks_of_the_slower_flow_only_are_those_of_an_l4s_aqm(
    changed: dict[str, int], kind: str
) -> None:
    """Lab run s1101-037: DualPI2 and 4 ms of jitter; CUBIC has 14 times the rate."""
    faster = {"marking_delay_us": 4_380.0, "noise_us": 5_600.0, "high_acked": 0, "high_marks": 0}
    faster |= {"classic_slots": 34, "classic_ect0": 34, "classic_own_marked": 34, "flat": False}
    faster |= {"classic_outrun": 34, "classic_marked_slots": 0, "classic_gap": 0.12}
    faster |= {"classic_corr": -0.07, "classic_apart": 0.06, "classic_own_queue_us": 6_150.0}
    faster |= {"classic_mark_delay_us": None}
    assert marked.verdict(features(**faster | changed, classic_queue_us=6_700.0))[0] == kind


LONGER = {
    "marking_delay_us": 9_300.0,
    "scalable_slots": 68,
    "scalable_queue_us": 2_600.0,
    "scalable_own_queue_us": 10_700.0,
    "scalable_gap": 0.75,
    "scalable_corr": 0.36,
    "scalable_marks": 500,
    "scalable_mark_delay_us": 745.0,
}


@pytest.mark.parametrize(("floor", "kind"), [(10_000.0, "per-flow"), (18_000.0, "unknown")])
def test_a_flow_with_a_longer_path_may_have_no_queue_of_its_own(floor: float, kind: str) -> None:
    """Lab run s1201-108: 8 ms more to one host. s2301-050: above a packet that skipped half."""
    assert marked.verdict(features(**LONGER, floor_us=floor))[0] == kind
    overtook = LONGER | {"scalable_corr": 0.85, "late_share": 0.047, "flat": False}
    assert marked.verdict(features(**overtook, floor_us=floor))[0] != "per-flow"


def test_the_queues_of_both_flows_show_that_there_are_two() -> None:
    """Lab run s1401-093: both "marked below 100 us: two queues"."""
    changed = {
        "marked_as": "ect0",
        "scalable_slots": 40,
        "scalable_marks": 40,
        "scalable_mark_delay_us": 60.0,
        "scalable_own_queue_us": 20_000.0,
        "scalable_queue_us": 350.0,
        "scalable_gap": 0.9,
        "scalable_corr": 0.0,
    }
    kind, _, reason = marked.verdict(features(**changed))
    assert kind == "l4s"
    assert reason.endswith("this flow waits 20 ms, ECT(1) traffic 350 us: two queues.")


def test_the_jitter_that_hides_a_queue_is_that_of_the_path() -> None:
    """Lab run s1401-082: 4.06 ms in the frame, 2.9 ms in L4S405, 2.86 ms in what was skipped."""
    hidden = features(
        marking_delay_us=5_000.0,
        noise_us=10_000.0,
        common_us=2_860.0,
        high_acked=0,
        high_marks=0,
    )
    assert marked.verdict(hidden)[2].startswith(
        "Cannot be determined: 2.86 ms of jitter hides the queue"
    )
