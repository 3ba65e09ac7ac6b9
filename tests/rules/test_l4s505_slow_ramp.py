"""A path that takes long to fill."""

import polars as pl

from l4strace.rules.l4s505_slow_ramp import check
from tests.support.frames import MS, rounds, stack
from tests.support.phases import phases
from tests.support.scenes import FLOWS, two_flows

ROUNDS = rounds(
    100, slow_start=[True] * 10 + [False] * 90, inflight_max_packets=[10] * 11 + [40] * 89
)


def found(*capacities: float, **columns: object):
    made = phases(*capacities, **columns)
    return check(two_flows(phases=made, rounds=ROUNDS))


def test_fires_with_the_time_and_the_end_of_slow_start() -> None:
    (finding,) = found(50.0, ramp_ns=26_000 * MS)
    assert finding.message == (
        "It took 26.0 s after the first data until the path carried 80 % of its 50 Mbit/s. Slow "
        "start of flow 0 ended at t=0.1 s with 10 packets in flight."
    )


def test_names_the_flow_that_filled_the_path() -> None:
    """Flow 0, which carried most in the end, began when the path was full."""
    first = rounds(100, flow=1, slow_start=[True] * 30 + [False] * 70, inflight_max_packets=12)
    late = rounds(500, flow=0, begin_ns=30_000 * MS)
    made = phases(50.0, ramp_ns=26_000 * MS)
    plain = {"phases": made}
    (finding,) = check(two_flows(**plain, rounds=stack(late, first)))
    assert finding.message.endswith(
        "Slow start of flow 1 ended at t=0.3 s with 12 packets in flight."
    )


def test_says_nothing_of_a_slow_start_that_the_capture_does_not_see() -> None:
    """At the receiver: "Slow start ended with 1 packets in flight"."""
    unseen = rounds(100, slow_start=None, inflight_max_packets=None)
    made = {"phases": phases(50.0, ramp_ns=26_000 * MS)}
    (finding,) = check(two_flows(**made, rounds=unseen))
    assert "Slow start" not in finding.message
    between = made | {"flows": FLOWS.with_columns(vantage=pl.lit("middle"))}
    (finding,) = check(two_flows(**between, rounds=ROUNDS))
    assert "Slow start" not in finding.message


def test_fires_after_a_rise_of_the_capacity() -> None:
    (finding,) = found(5.0, 50.0, ramp_ns=[100 * MS, 4_000 * MS])
    assert finding.message == (
        "It took 4.0 s after the capacity rose until the path carried 80 % of its 50 Mbit/s."
    )


def test_silent_on_a_fast_start_a_fall_a_long_path_and_an_unknown_capacity() -> None:
    assert found(50.0, ramp_ns=900 * MS) == []
    assert found(50.0, 5.0, ramp_ns=[900 * MS, 4_000 * MS]) == []
    assert found(50.0, ramp_ns=3_500 * MS, base_rtt_us=200_000.0) == []
    assert found(50.0, ramp_ns=26_000 * MS, capacity_shown=False) == []
    assert found(50.0, ramp_ns=None) == []
