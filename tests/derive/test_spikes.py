"""Latency spikes and their causes."""

import polars as pl
import pytest

from l4strace.derive import spikes
from tests.support.frames import MS, capture, frame, rounds

FLOWS = frame("flows", flow=[0, 1], first_ns=[0, 990 * MS])


def spiked(**columns: object) -> pl.DataFrame:
    """Two seconds at 10.4 ms with 200 ms of queue from 1.0 s to 1.3 s."""
    delays = [10_400.0] * 100 + [210_000.0] * 30 + [10_400.0] * 70
    made = rounds(200, rtt_mean_us=delays, **columns)
    directions = frame("directions", data_ect1=1000)
    return spikes.table(capture(flows=FLOWS.head(1), directions=directions, rounds=made))


def test_spike_has_start_height_and_length() -> None:
    row = spiked().row(0, named=True)
    assert (row["start_ns"], row["end_ns"], row["rounds"]) == (1_000 * MS, 1_300 * MS, 30)
    assert row["height_us"] == pytest.approx(200_000)
    assert row["usual_us"] == pytest.approx(400)
    assert row["cause"] == "unknown"


@pytest.mark.parametrize(
    ("columns", "cause"),
    [
        ({"slow_start": [True] * 110 + [False] * 90}, "slow-start"),
        ({"acked_bytes": [58_000] * 100 + [5_000] * 100}, "rate-drop"),
        ({"retransmits": [0] * 110 + [9] * 10 + [0] * 80}, "loss"),
        ({"burst_bytes": [1448] * 105 + [65_000] * 5 + [1448] * 90}, "burst"),
    ],
)
def test_cause(columns: dict[str, list[object]], cause: str) -> None:
    assert spiked(**columns)["cause"].to_list() == [cause]


def test_a_flow_that_just_began_is_the_cause() -> None:
    delays = [10_400.0] * 100 + [210_000.0] * 30 + [10_400.0] * 70
    directions = frame("directions", flow=[0, 1], data_ect1=1000, first_ns=[0, 990 * MS])
    table = spikes.table(
        capture(flows=FLOWS, directions=directions, rounds=rounds(200, rtt_mean_us=delays))
    )
    assert table["cause"].to_list() == ["new-flow"]


def test_a_short_peak_or_a_high_usual_delay_is_no_spike() -> None:
    directions = frame("directions", data_ect1=1000)
    peak = rounds(200, rtt_mean_us=[10_400.0] * 100 + [60_000.0] * 3 + [10_400.0] * 97)
    bloated = rounds(200, rtt_mean_us=[30_000.0 + 100 * (i % 150) for i in range(200)])
    for made in (peak, bloated):
        assert spikes.table(
            capture(flows=FLOWS.head(1), directions=directions, rounds=made)
        ).is_empty()


@pytest.mark.parametrize(("calm", "count"), [(4, 1), (30, 2)])
def test_a_short_calm_does_not_end_a_spike(calm: int, count: int) -> None:
    high = [210_000.0] * 20
    delays = [10_400.0] * 60 + high + [10_400.0] * calm + high + [10_400.0] * (100 - calm)
    made = rounds(200, rtt_mean_us=delays)
    directions = frame("directions", data_ect1=1000)
    table = spikes.table(capture(flows=FLOWS.head(1), directions=directions, rounds=made))
    assert table["rounds"].to_list() == ([40] if count == 1 else [20, 20])
