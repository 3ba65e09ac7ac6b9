"""One queue or a queue each, from the gap and the correlation of two delays."""

from __future__ import annotations

import pytest

from l4strace.derive import border, marked, sharing
from l4strace.schema.words import CLASSIC_OR_PER_FLOW
from tests.support.features import PLAIN

EQUAL_RATES = {"classic_waiting": 40, "classic_uneven": 0.01, "classic_unlike": 0.2}
"""Lab run s1001-127: fq_codel whose flows wait alike, at rates that differ by 1 %."""


def features(
    gap: float | None,
    corr: float | None,
    slots: int = 50,
    within: float | None = None,
    apart: float | None = None,
    **rates: float,
) -> dict[str, object]:
    return PLAIN | {
        "classic_gap": gap,
        "classic_corr": corr,
        "classic_slots": slots,
        "classic_within": within,
        "classic_apart": apart,
        "classic_queue_us": 8_000.0,
        "classic_own_queue_us": 9_000.0,
        **rates,
    }


@pytest.mark.parametrize(
    ("gap", "corr", "one", "each"),
    [
        (0.05, 0.9, True, False),
        (0.04, 0.08, True, False),  # RED swings within a slot
        (0.28, 0.6, True, False),
        (0.59, 0.93, False, False),  # lab run s1301-025: two queues of fq_codel
        (0.32, 0.58, False, False),  # two queues of CoDel that a third flow fills
        (0.29, 0.01, False, True),
        (0.48, 0.22, False, True),  # between the points: fq_codel
        (0.42, 0.5, False, False),
        (0.77, 0.76, False, True),  # both start at once
        (None, None, False, True),
    ],
)
def test_equal_delays_are_one_queue_and_parallel_ones_are_not(
    gap: float | None, corr: float | None, one: bool, each: bool
) -> None:
    f = features(gap, corr)
    assert (sharing.one_queue(f, "classic"), sharing.own_queues(f, "classic")) == (one, each)


def test_parallel_delays_are_one_queue_where_a_base_rtt_was_not_seen() -> None:
    f = features(0.59, 0.93)
    assert not sharing.one_queue(f, "classic")
    assert sharing.one_queue(f | {"floor_us": 10_600.0}, "classic")


def test_only_equal_and_parallel_delays_leave_no_doubt() -> None:
    assert sharing.sure(features(0.1, 0.7), "classic")
    assert not sharing.sure(features(0.05, 0.1), "classic")
    assert not sharing.sure(features(0.3, 0.7), "classic")
    # Lab run s901-117: CoDel holds the queues of eight flows near one target.
    assert not sharing.sure(features(0.15, 0.61), "classic")


@pytest.mark.parametrize(("within", "one"), [(0.4, False), (0.6, True), (None, True)])
def test_a_change_of_the_path_that_moves_two_queues_does_not_make_them_one(
    within: float | None, one: bool
) -> None:
    """Lab run s801-027: a fall of the rate lengthened both queues of fq_codel."""
    f = features(0.18, 0.85, within=within)
    assert (sharing.one_queue(f, "classic"), sharing.sure(f, "classic")) == (one, one)


def test_flows_that_met_for_a_moment_are_not_compared() -> None:
    assert not sharing.compared(features(0.1, 0.9, slots=9), "classic")
    assert sharing.compared(features(0.1, 0.9, slots=10), "classic")


def test_the_words_give_both_numbers() -> None:
    assert (
        sharing.words(features(0.08, 0.91), "classic") == "8 % apart on average, correlation 0.91"
    )


@pytest.mark.parametrize(
    ("apart", "one", "each"), [(0.0, True, False), (0.15, False, False), (0.49, False, True)]
)
def test_flows_whose_waits_never_meet_are_not_in_one_queue(
    apart: float, one: bool, each: bool
) -> None:
    """Lab runs s901-062 and -117: CoDel held the queues of fq_codel alike, on average."""
    f = features(0.15, 0.8, apart=apart)
    assert (sharing.one_queue(f, "classic"), sharing.sure(f, "classic")) == (one, one)
    assert sharing.own_queues(f, "classic") is each


def test_equal_rates_at_unequal_rtts_are_queues_served_in_turn() -> None:
    alike = {"gap": 0.2, "corr": 0.74}
    f = features(**alike, **EQUAL_RATES)
    assert sharing.served_in_turn(f, "classic")
    assert sharing.own_queues(f, "classic")
    assert not sharing.one_queue(f, "classic")
    assert not sharing.sure(f, "classic")
    assert sharing.one_queue(features(**alike), "classic")


@pytest.mark.parametrize(
    "changed",
    [
        {"classic_waiting": 9},
        {"classic_uneven": 0.12, "classic_unlike": 0.75},  # DualPI2 at its equal rates: s901-064
        {"classic_uneven": 0.02, "classic_unlike": 0.03},  # equal windows in one queue: s901-015
        {"classic_uneven": 0.08, "classic_unlike": 0.2},
        {"classic_uneven": 0.012, "classic_unlike": 0.052},  # s1501-007, a third of its ACKs
    ],
)
def test_equal_rates_of_few_slots_or_of_equal_windows_show_nothing(
    changed: dict[str, float],
) -> None:
    assert not sharing.served_in_turn(features(0.2, 0.74, **EQUAL_RATES | changed), "classic")


def test_no_noise_makes_rates_unequal_that_fair_queueing_shares_out() -> None:
    """Lab run s1501-036: DualPI2 with jitter, rates that differ by a factor of ten."""
    noisy = features(0.66, -0.3, classic_waiting=30, classic_uneven=2.6, noise_us=9_000.0)
    assert sharing.unfair(noisy, "classic")
    assert not sharing.out_of_turn(noisy, "classic")
    assert not sharing.unfair(noisy | {"classic_uneven": 0.36}, "classic")
    assert not sharing.unfair(noisy | {"classic_waiting": 9}, "classic")


@pytest.mark.parametrize(
    ("rates", "out"),
    [
        ({"classic_waiting": 35, "classic_uneven": 0.7}, True),
        ({"classic_waiting": 9, "classic_uneven": 0.7}, False),
        ({"classic_waiting": 35, "classic_uneven": 0.7, "noise_us": 8_500.0}, False),
        ({"classic_waiting": 35, "classic_uneven": 0.3}, False),
        ({"classic_outrun": 18, "classic_own_marked": 18}, True),
        ({"classic_outruns": 10, "classic_marked_slots": 12}, True),
        ({"classic_outrun": 18, "classic_own_marked": 40}, False),
        ({"classic_outrun": 4, "classic_own_marked": 4}, False),
        # Beside packets that take longer than the step any packet waits that long.
        ({"classic_outrun": 18, "classic_own_marked": 18, "serialisation_us": 3_500.0}, False),
    ],
)
def test_unequal_rates_of_flows_that_wait_are_no_fair_queueing(
    rates: dict[str, float], out: bool
) -> None:
    assert sharing.out_of_turn(features(0.85, 0.1, **rates), "classic") is out


@pytest.mark.parametrize(
    ("least", "corr", "apart", "own"),
    [
        ({"floor_us": 16_500.0}, 0.37, None, False),
        ({"floor_us": 16_500.0}, 0.37, 0.9, False),
        ({"floor_us": 12_000.0}, 0.37, None, True),
        ({"classic_least_us": 6_500.0}, 0.37, None, True),  # the flow that waits less
    ],
)
def test_a_flow_that_never_waited_less_may_have_a_longer_path(
    least: dict[str, float], corr: float, apart: float | None, own: bool
) -> None:
    """Lab run s1101-122: DualPI2, jitter on the ACKs, and a path that is 6.5 ms longer."""
    waits = {"classic_queue_us": 4_100.0, "classic_own_queue_us": 10_700.0}
    f = features(0.61, corr, apart=apart, **waits, **least)
    assert sharing.own_queues(f, "classic") is own
    turned = {"classic_queue_us": 10_700.0, "classic_own_queue_us": 4_100.0}
    swapped = {"classic_least_us": least.get("floor_us", 10_000.0) - 10_000.0}
    swapped["floor_us"] = 10_000.0 + least.get("classic_least_us", 0.0)
    f = features(0.61, corr, apart=apart, **turned, **swapped)
    assert sharing.own_queues(f, "classic") is own


@pytest.mark.parametrize(("limit", "one"), [(18_500.0, False), (3_000.0, True)])
def test_equal_waits_of_a_packet_or_two_are_no_queue_of_all(limit: float, one: bool) -> None:
    """Lab run s1101-144: fq_codel at 1 Mbit/s, whose flows wait 33.5 ms all the time."""
    waits = {"classic_queue_us": 33_500.0, "classic_own_queue_us": 33_500.0}
    f = features(0.1, 0.55, **waits, mark_limit_us=limit)
    assert sharing.one_queue(f, "classic") is one


def test_waits_shorter_than_a_packet_need_not_be_equal() -> None:
    """Lab run s1001-105: 0.6 and 0.8 ms, and a packet takes 1.25 ms."""
    short = {"classic_queue_us": 628.0, "classic_own_queue_us": 807.0, "serialisation_us": 1_250.0}
    assert sharing.within_a_packet(features(0.38, -0.26, **short), "classic")
    assert not sharing.within_a_packet(features(0.38, -0.26), "classic")


@pytest.mark.parametrize(
    ("changed", "unequal"),
    [
        ({}, True),
        ({"classic_uneven": 0.2}, False),
        ({"classic_waiting": 9}, False),
        ({"noise_us": 8_500.0}, False),
        ({"late_share": 0.01}, False),
    ],
)
def test_flows_with_a_queue_each_get_equal_rates_without_noise(
    changed: dict[str, float], unequal: bool
) -> None:
    """Lab run s1201-053: a step at 2.9 Mbit/s, where waits differ by less than a packet."""
    rates = {"classic_waiting": 104, "classic_uneven": 0.41}
    assert sharing.unequal(features(0.17, -0.83, **rates | changed), "classic") is unequal


UNEQUAL_WINDOWS = {
    "scalable_waiting": 37,
    "scalable_uneven": 0.069,
    "scalable_unlike": 0.095,
    "scalable_gap": 0.227,
    "scalable_corr": 0.926,
    "scalable_within": 0.905,
    "scalable_apart": 0.015,
    "scalable_queue_us": 11_929.0,
    "scalable_own_queue_us": 10_294.0,
    "mark_limit_us": 3_000.0,
    "floor_us": 54_300.0,
    "base_us": 54_230.0,
    "scalable_least_us": 167.0,
}
"""Lab run s1801-092, flow 0: fq_codel whose rate changes twice, six flows."""


def test_equal_rates_of_unequal_windows_leave_open_whose_queue_it_is() -> None:
    assert not sharing.sure(UNEQUAL_WINDOWS, "scalable")
    assert not sharing.one_queue(UNEQUAL_WINDOWS, "scalable")


def test_unequal_rates_or_equal_windows_do_not_contradict_one_queue() -> None:
    for other in ({"scalable_uneven": 0.12}, {"scalable_unlike": 0.03}, {"scalable_waiting": 9}):
        assert sharing.sure(UNEQUAL_WINDOWS | other, "scalable"), other
        assert sharing.one_queue(UNEQUAL_WINDOWS | other, "scalable"), other


def test_the_others_are_traffic_because_they_may_be_one_flow() -> None:
    """Simulated run s8101-203 of two flows: "the other flows wait as long"."""
    deep = {"marked_as": "ect1", "marks": 20, "all_marks": 20, "acked": 5_000, "began": True}
    deep |= {"queue_delay_us": 7_000.0, "queue_high_us": 9_000.0, "marking_delay_us": 8_000.0}
    deep |= {"high_rounds": 50, "high_acked": 1_000, "high_marks": 20, "high_unmarked": 40}
    kind, _, reason = marked.verdict(features(0.02, 1.0) | deep)
    assert kind == "classic"
    assert "and the other traffic waits as long at the same time (delays 2 %" in reason


LEFT_BEHIND = {
    "marked_as": "ect1",
    "marks": 400,
    **dict.fromkeys(("high_acked", "high_marks", "high_rounds", "high_unmarked"), 0),
    "acked": 900,
    "began": True,
    "first_marking_us": 1_330.0,
    "queue_high_us": 14_600.0,
    "classic_high": 55,
    "classic_high_unmarked": 0,
    "all_marks": 485,
    "marked_rounds": 253,
    "rounds": 320,
    "marking_delay_us": 7_100.0,
    "noise_us": 18_400.0,
    "queue_delay_us": 11_000.0,
    "serialisation_us": 700.0,
    "classic_slots": 68,
    "classic_ect0": 68,
    "classic_apart": 0.5,
    "classic_gap": 0.57,
    "classic_corr": 0.11,
    "classic_queue_us": 29_000.0,
    "classic_own_queue_us": 11_000.0,
    "classic_marks": 98,
    "classic_mark_delay_us": 18_200.0,
    "classic_own_marked": 66,
    "classic_marked_slots": 61,
    "classic_outrun": 66,
}
"""Lab run s2501-157: DualPI2 at 17 Mbit/s with 8 ms of jitter, beside BBR."""


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        ({}, True),
        ({"classic_outrun": 10}, False),  # fair queueing gives each its share
        ({"classic_own_marked": 20, "classic_outrun": 20}, False),  # seldom marked
        ({"classic_apart": 0.1}, False),  # one queue
        ({"classic_queue_us": 9_000.0}, False),  # the others wait less
        ({"serialisation_us": 2_000.0}, False),  # waits for a packet of another flow
        ({"classic_slots": 9}, False),
    ],
)
def test_two_queues_that_share_the_rate_unevenly_show_through_jitter(
    changed: dict[str, object], shown: bool
) -> None:
    f = PLAIN | LEFT_BEHIND | changed
    assert sharing.left_behind(f) is shown
    found = marked.verdict(f)
    assert found is not None
    assert found[0] == ("l4s" if shown else "unknown")
    # BBR overloads its queue, which marks in as many moments then.
    assert border.as_often(f) is (not shown and f["classic_slots"] >= sharing.MIN_SLOTS)


def test_marks_of_most_ect0_packets_contradict_two_queues() -> None:
    """No coupled dual queue marks more than a quarter."""
    found = marked.verdict(PLAIN | LEFT_BEHIND | {"ect0_ratio": 1.0, "ect0_marks": 500})
    assert found is not None
    assert found[0] == "unknown"


def test_what_leaves_ect1_packets_behind_shows_the_same_two_queues() -> None:
    turned = {
        "scalable_" + name.removeprefix("classic_"): value
        for name, value in LEFT_BEHIND.items()
        if name.startswith("classic_")
    }
    turned |= {"scalable_queue_us": 11_000.0, "scalable_own_queue_us": 29_000.0}
    turned |= {"scalable_marked_slots": 61, "scalable_outruns": 66, "scalable_outrun": 0}
    other = PLAIN | turned | {"marked_as": "ect0", "serialisation_us": 700.0}
    assert sharing.left_behind(other)
    assert not sharing.left_behind(other | {"scalable_outruns": 10})
    assert not sharing.left_behind(other | {"marked_as": "not_ect"})


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({}, "classic"),
        ({"classic_waiting": 4}, CLASSIC_OR_PER_FLOW),
        ({"classic_uneven": 2.9}, CLASSIC_OR_PER_FLOW),
        ({"classic_waiting": 0, "classic_uneven": None}, CLASSIC_OR_PER_FLOW),
    ],
)
def test_a_few_slots_show_one_queue_by_rates_that_fair_queueing_never_gives(
    changed: dict[str, object], kind: str
) -> None:
    """Run s8105-104: CoDel with 390 ms of queue, so that ten seconds are seven slots."""
    deep = {"marking_delay_us": 386_000.0, "queue_delay_us": 307_000.0, "classic_slots": 7}
    left = {"high_acked": 274, "high_marks": 4, "high_rounds": 20, "high_unmarked": 17}
    few = {"noise_us": 0.0, "classic_waiting": 6, "classic_uneven": 3.9}
    found = marked.verdict(PLAIN | LEFT_BEHIND | deep | left | few | changed)
    assert found is not None
    assert found[0] == kind


def test_ect1_packets_that_wait_longer_than_others_have_no_dual_queue() -> None:
    """Run s8102-072: a slow link, a queue for each of five flows; waits look like noise."""
    deep = {"marking_delay_us": 19_000.0, "noise_us": 54_000.0, "classic_outrun": 0}
    waits = {"classic_queue_us": 13_700.0, "classic_own_queue_us": 42_200.0}
    slow = {"mark_limit_us": 5_700.0, "serialisation_us": 2_500.0, "began": True}
    found = marked.verdict(PLAIN | LEFT_BEHIND | deep | waits | slow)
    assert found is not None
    assert found[0] == "per-flow"
    low = {"marking_delay_us": 5_600.0}
    shown = marked._own_queue(PLAIN | LEFT_BEHIND | deep | waits | slow | low)
    assert shown is None
