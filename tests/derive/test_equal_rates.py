"""Equal rates of flows with unequal windows."""

from l4strace.derive import sharing

PAIR = {
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
    assert not sharing.sure(PAIR, "scalable")
    assert not sharing.one_queue(PAIR, "scalable")


def test_unequal_rates_or_equal_windows_do_not_contradict_one_queue() -> None:
    for other in ({"scalable_uneven": 0.12}, {"scalable_unlike": 0.03}, {"scalable_waiting": 9}):
        assert sharing.sure(PAIR | other, "scalable"), other
        assert sharing.one_queue(PAIR | other, "scalable"), other
