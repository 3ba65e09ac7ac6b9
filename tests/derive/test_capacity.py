"""Rates of a path slot by slot, and the capacity behind them."""

import polars as pl
import pytest

from l4strace.derive import capacity
from tests.support.frames import MS, capture, frame, rounds, stack

FLOWS = frame("flows", flow=[0, 1])
DIRECTIONS = frame("directions", flow=[0, 1])
RATE = 40 * 1448 * 8 / 0.01


def slots(*made: pl.DataFrame, flows: int = 2) -> pl.DataFrame:
    known = {"flows": FLOWS.head(flows), "directions": DIRECTIONS.head(flows)}
    return capacity.slots(capture(**known, rounds=stack(*made)))


def test_flows_of_a_path_add_up() -> None:
    found = slots(rounds(200), rounds(200, flow=1))
    assert found["delivered_bps"].to_list() == pytest.approx([2 * RATE] * 20)
    assert found["end_ns"][0] - found["start_ns"][0] == 100 * MS


def test_a_long_round_is_spread_over_its_slots() -> None:
    """One flow has rounds of 10 ms, the other one of a second."""
    long = rounds(1, flow=1, acked_bytes=1_000_000, acked_packets=690).with_columns(
        end_ns=pl.lit(1_000 * MS, dtype=pl.Int64)
    )
    found = slots(rounds(200), long.select(rounds(1).columns))
    assert found["delivered_bps"][5] == pytest.approx(RATE + 8e6)
    assert found["delivered_bps"][15] == pytest.approx(RATE)


def test_the_queue_is_that_of_the_flow_that_waits_most() -> None:
    """A flow of another base RTT has no queue; one that waits 8 ms above its own smallest has."""
    waiting = [10_000.0] + [18_000.0] * 199
    own = rounds(200, rtt_min_us=waiting, rtt_mean_us=18_000.0)
    found = slots(own, rounds(200, flow=1, rtt_min_us=70e3))
    assert found["queue_us"][5] == 8_000.0
    assert found["floor_us"][5] == 0.0


@pytest.mark.parametrize(
    ("marks", "lost", "rate"),
    [
        pytest.param(30, 0, 2 * RATE, id="and most of them were marked"),
        pytest.param(10, 0, None, id="as jitter makes them wait"),
        pytest.param(30, 1, None, id="a repair has no rate of its own"),
    ],
)
def test_a_round_whose_packets_all_waited(marks: int, lost: int, rate: float | None) -> None:
    """It is the one at 1 s; the other flow delivers meanwhile, too."""
    waits = [10_000.0] * 100 + [13_000.0] + [10_000.0] * 99
    marked, repairs = ([0] * 100 + [count] + [0] * 99 for count in (marks, lost))
    queued = rounds(200, rtt_min_us=waits, retransmits=repairs, ce_best=marked, train_bps=RATE)
    found = slots(queued, rounds(200, flow=1))
    shown = {row["slot"]: row["full_bps"] for row in found.iter_rows(named=True)}
    assert shown.pop(10) == (rate and pytest.approx(rate))
    assert set(shown.values()) == {None}


def test_a_window_that_flights_exceed_does_not_hold_back() -> None:
    """The scale of the window is not known where the SYN was cut."""
    unscaled = rounds(200, limited_by="rwnd", rwnd_bytes=2_000, inflight_max_bytes=57_920)
    full = rounds(200, limited_by="rwnd", rwnd_bytes=58_000, inflight_max_bytes=57_920)
    for made, held in ((unscaled, 0.0), (full, 1.0)):
        assert set(slots(made, flows=1)["held_back"]) == {held}


def test_a_path_without_data_in_flight_is_held_back() -> None:
    """Pages of 7 kB that were loaded one by one left a path "not full" (run s52711-053)."""
    starts = list(range(0, 8_000 * MS, 40 * MS))
    times = {"start_ns": starts, "end_ns": [start + 10 * MS for start in starts]}
    for made, held in ((rounds(200), 0.0), (rounds(200, **times), 0.75)):
        assert slots(made, flows=1)["held_back"].mean() == pytest.approx(held, abs=0.02)


def test_a_flow_that_is_over_before_slow_start_fills_a_path_is_held_back() -> None:
    """Pages of 430 kB, each over a connection of its own, did so, too (run s52711-268)."""
    for count, held in ((10, 1.0), (11, 0.0)):
        assert set(slots(rounds(count), flows=1)["held_back"]) == {held}


def test_an_ack_that_closes_a_hole_shows_no_rate() -> None:
    """It was taken for 1.8 Gbit/s of an 85 Mbit/s link."""
    repaired = rounds(
        200,
        train_bps=[50e6] * 100 + [1.8e9] * 2 + [50e6] * 98,
        retransmits=[0] * 100 + [400] + [0] * 99,
    )
    assert slots(repaired)["train_bps"].max() == 50e6


def test_a_long_run_has_longer_slots_not_more() -> None:
    half_an_hour = rounds(
        36_000,
        start_ns=[50 * MS * n for n in range(36_000)],
        end_ns=[50 * MS * (n + 1) for n in range(36_000)],
        round_trips=1,
        acked_packets=40,
        acked_bytes=40 * 1448,
    )
    found = slots(half_an_hour, flows=1)
    assert found.height == pytest.approx(1 << 14, abs=1)
    assert found["acked"].sum() == pytest.approx(36_000 * 40)


def test_no_slots_without_rounds() -> None:
    assert capacity.slots(capture(flows=FLOWS, directions=DIRECTIONS)).is_empty()
