"""One queue or a queue each, from the gap and the correlation of two delays."""

from __future__ import annotations

import pytest

from l4strace.derive import sharing


def features(
    gap: float | None,
    corr: float | None,
    slots: int = 50,
    within: float | None = None,
    apart: float | None = None,
) -> dict[str, object]:
    return {
        "classic_gap": gap,
        "classic_corr": corr,
        "classic_slots": slots,
        "classic_within": within,
        "classic_apart": apart,
    }


@pytest.mark.parametrize(
    ("gap", "corr", "one", "each"),
    [
        (0.05, 0.9, True, False),
        (0.04, 0.08, True, False),  # RED swings within a slot
        (0.28, 0.6, True, False),
        (0.59, 0.93, True, False),  # a base RTT that no packet saw
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
