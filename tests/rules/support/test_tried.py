"""Trials of ECN over UDP: what counts as given up, and what became of the packets."""

from dataclasses import replace

import pytest

from l4strace.rules.support import tried
from tests.support.ends import path, sent


@pytest.mark.parametrize(
    ("runs", "packets", "probes"),
    [([0, 2, 2, 10, 0, 300], 10, True), ([1, 65, 0, 300], 65, False)],
)  # fmt: skip
def test_packets_of_a_trial_are_counted(runs: list[int], packets: int, probes: bool) -> None:
    (one,) = tried.given_up(sent(runs))
    assert (one.packets, one.probes, one.span_ns[0]) == (packets, probes, 5_000_000)


def test_nothing_that_alternates_without_end_is_a_trial() -> None:
    many = sent([1, 1, 0, 300] * 8)
    assert tried.given_up(many)
    longer = many.udp_directions.with_columns(ecn_runs=17).cast(many.udp_directions.schema)
    assert tried.given_up(replace(many, udp_directions=longer)) == []


def test_a_path_that_clears_more_than_it_swaps_clears() -> None:
    (one,) = tried.given_up(sent([1, 10, 0, 300]))
    paths = path(ect1_to_not_ect=6, ect1_to_ect0=4)
    assert tried.became(sent([1, 10, 0, 300], paths=paths), one) == "cleared"
    assert tried.became(sent([1, 10, 0, 300]), one) == "unknown"


def test_acknowledgements_without_counts_add_that_to_what_became_of_the_packets() -> None:
    (one,) = tried.given_up(sent([2, 10, 0, 300]))
    arrived = path(ect0_to_ect0=10)
    for change, alone, both in (
        ({"reported_packets": 300}, "uncounted", "unreported"),
        ({"reported_packets": 300, "reported_ect0": 10}, "unknown", "intact"),
        ({"reported_packets": 300, "ce_fed_back_best": 10}, "unknown", "intact"),
        ({}, "unknown", "intact"),
    ):
        read = one._replace(row=one.row | change)
        assert tried.became(sent([2, 10, 0, 300]), read) == alone
        assert tried.became(sent([2, 10, 0, 300], paths=arrived), read) == both
