"""Senders that do as the replayed controller of UDP Prague does, and others."""

from __future__ import annotations

import polars as pl
import pytest

from l4strace.derive.senders import controlled
from l4strace.evidence import Evidence
from tests.support.frames import evidence, frame

TRIPS = 100
WINDOW = [20 - trip % 5 for trip in range(TRIPS)]
"""Four reductions of a packet in a row, and growth of four, as often as there are five trips."""
MADE = [4 * (trip // 5) + trip % 5 for trip in range(TRIPS)]
BEFORE = [WINDOW[0], *WINDOW]
"""The window with which each trip begins."""


def trips(flying: list[int], **columns: object) -> Evidence:
    """Round trips with so many packets in flight, of which the replay makes WINDOW."""
    plain = {
        "round": list(range(TRIPS)),
        "round_trips": 1,
        "window_packets": WINDOW,
        "reductions": MADE,
        "empty_reductions": 0,
    }
    table = frame("udp_round_trips", inflight_max_packets=flying, **(plain | columns))
    return evidence(udp_round_trips=table)


def test_data_in_flight_that_is_the_window_of_either_end_of_its_trip() -> None:
    (row,) = controlled.followed(trips(BEFORE[:TRIPS])).to_dicts()
    # The first reduction has ended trip 0, and the last one trip 99.
    assert (row["trips"], row["share"], row["reductions"]) == (99, 1.0, 80)
    fewer = [packets - 1 for packets in WINDOW]
    assert controlled.followed(trips(fewer)).height == 1


@pytest.mark.parametrize(
    "other",
    [
        trips([30] * TRIPS),
        trips([packets - 3 for packets in WINDOW]),
        trips(BEFORE[:TRIPS], reductions=0),
        trips(BEFORE[:TRIPS], reductions=[min(trip, 4) for trip in range(TRIPS)]),
        trips(BEFORE[:TRIPS], empty_reductions=MADE),
        trips(BEFORE[:TRIPS], round_trips=8),
        trips(BEFORE[:TRIPS], window_packets=None),
        trips([4] * TRIPS, window_packets=4),
    ],
    ids=[
        *("above it", "held back", "no reduction", "four reductions", "empty reductions"),
        *("merged", "begins later", "small windows"),
    ],
)
def test_anything_else_shows_nothing(other: Evidence) -> None:
    assert controlled.followed(other).is_empty()


def test_a_share_of_one_in_ten_may_be_something_else() -> None:
    for odd, found in ((9, 1), (10, 0)):
        flying = [99 if 0 < at <= odd else packets for at, packets in enumerate(BEFORE[:TRIPS])]
        assert controlled.followed(trips(flying)).height == found


def test_without_udp_there_is_nothing() -> None:
    assert controlled.followed(evidence()).schema.names()[:3] == ["source", "flow", "forward"]
    assert isinstance(controlled.followed(evidence()), pl.DataFrame)
