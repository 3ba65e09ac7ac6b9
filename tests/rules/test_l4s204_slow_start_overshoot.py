"""Overshoot of slow start."""

import polars as pl

from l4strace.model import Severity
from l4strace.rules.l4s204_slow_start_overshoot import check
from tests.support.frames import MS, evidence, frame, rounds
from tests.support.scenes import DIRECTIONS, FLOWS


def scene(peak: int = 400, **columns: object):
    flight = [20] * 10 + [peak] * 20 + [40] * 970
    return evidence(
        flows=FLOWS,
        directions=DIRECTIONS,
        rounds=rounds(1000, inflight_max_packets=flight),
        spikes=spike(**columns),
    )


def spike(**columns: object) -> pl.DataFrame:
    plain = {
        "start_ns": 100 * MS,
        "end_ns": 2_100 * MS,
        "height_us": 500_000.0,
        "usual_us": 400.0,
        "rounds": 50,
        "cause": "slow-start",
    }
    return frame("spikes", **(plain | columns))


def test_fires_on_a_flight_ten_times_the_path() -> None:
    (found,) = check(scene())
    assert found.severity is Severity.WARNING
    assert [m.value for m in found.measures] == [400, 500_000.0]


def test_fires_as_notice_when_it_is_over_soon() -> None:
    (found,) = check(scene(end_ns=400 * MS))
    assert found.severity is Severity.NOTICE


def test_retransmissions_are_those_of_the_spike() -> None:
    """Ten before it, five in it (0.1 to 2.1 s), a thousand long after."""
    lost = [10] + [0] * 49 + [5] + [0] * 948 + [1000]
    scene_lost = rounds(
        1000, inflight_max_packets=[20] * 10 + [400] * 20 + [40] * 970, retransmits=lost
    )
    (found,) = check(
        evidence(flows=FLOWS, directions=DIRECTIONS, rounds=scene_lost, spikes=spike())
    )
    assert found.message.endswith("with 5 retransmissions.")


def test_silent_when_the_peak_comes_after_the_spike() -> None:
    flight = [40] * 900 + [400] * 100
    late = rounds(1000, inflight_max_packets=flight)
    made = evidence(flows=FLOWS, directions=DIRECTIONS, rounds=late, spikes=spike())
    assert check(made) == []


def test_silent_on_a_late_spike_or_a_modest_peak() -> None:
    assert check(scene(start_ns=6_000 * MS, end_ns=7_500 * MS)) == []
    assert check(scene(peak=80)) == []
