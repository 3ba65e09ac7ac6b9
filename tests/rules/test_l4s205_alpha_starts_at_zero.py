"""The first CE without a cut."""

from dataclasses import replace

import polars as pl
import pytest

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Severity, Skipped
from l4strace.rules.l4s205_alpha_starts_at_zero import check
from tests.support import sender_logs
from tests.support.frames import frame, rounds
from tests.support.scenes import DIRECTIONS, FLOWS, two_flows


def kernel_cut(**columns: object):
    plain = {"origin": "kernel", "ts_ns": 5, "alpha": 0.0, "fraction": 0.0, "cwnd_before": 1488.0}
    return two_flows(cuts=frame("cuts", **(plain | columns)))


def packets(flight: list[int]):
    marks = [0, 0, 0, 0, 0, 3] + [3] * (len(flight) - 6)
    made = rounds(len(flight), inflight_max_packets=flight, ce_best=marks)
    return two_flows(rounds=made)


def test_fires_on_the_kernels_own_first_cut() -> None:
    (found,) = check(kernel_cut())
    assert found.confidence is Confidence.HIGH
    assert [m.value for m in found.measures] == [0.0, 0.0]
    assert found.message.endswith("so the window of 1,488 packets did not shrink.")


def test_silent_when_alpha_zero_goes_with_a_halving() -> None:
    assert check(kernel_cut(fraction=0.5)) == []
    assert check(kernel_cut(alpha=1.0, fraction=0.5)) == []


def test_fires_on_a_flight_that_goes_on_doubling() -> None:
    (found,) = check(packets([10, 20, 40, 80, 160, 320, 640, 900, 900]))
    assert found.confidence is Confidence.MEDIUM
    assert [m.value for m in found.measures] == [320, 900]


def test_silent_when_the_flight_falls_or_only_creeps() -> None:
    assert check(packets([10, 20, 40, 80, 160, 320, 330, 160, 160])) == []
    assert check(packets([40, 41, 42, 43, 44, 45, 46, 56, 60])) == []


def test_fires_from_an_initial_window_and_a_half_on() -> None:
    assert len(check(packets([2, 3, 4, 6, 9, 16, 24, 31, 36]))) == 1
    assert check(packets([2, 3, 4, 5, 7, 15, 24, 31, 36])) == []


def over_udp(flight: list[int], transport: str = "udp-prague", **columns: object) -> Evidence:
    tcp = packets(flight)
    return replace(
        tcp,
        flows=FLOWS.with_columns(transport=pl.lit(transport), handshake=pl.lit("none")),
        directions=DIRECTIONS.with_columns(from_start=pl.lit(value=True)),
        rounds=tcp.rounds.with_columns(**columns),
    )


STEADY = [20, 20, 21, 21, 22, 22, 22, 22, 22]


@pytest.mark.parametrize("flight", [STEADY, [*STEADY[:7], 20, 20]])
def test_fires_as_notice_on_udp_prague_whose_flight_does_not_fall(flight: list[int]) -> None:
    (found,) = check(over_udp(flight))
    assert isinstance(found, Finding)
    assert (found.severity, found.confidence) == (Severity.NOTICE, Confidence.MEDIUM)
    assert check(packets(flight)) == [], "over TCP the window follows later"


def test_silent_on_udp_prague_that_halves_or_whose_window_does_not_show() -> None:
    assert check(over_udp([*STEADY[:6], 16, 11, 11])) == []
    assert check(over_udp([n // 3 for n in STEADY])) == []
    assert check(over_udp(STEADY, limited_by=pl.lit("app"))) == []
    (why,) = check(over_udp(STEADY, "rtp"))
    assert isinstance(why, Skipped)


def test_silent_on_udp_prague_that_began_before_the_capture() -> None:
    begun = over_udp(STEADY)
    late = begun.directions.with_columns(from_start=pl.lit(value=False))
    assert check(replace(begun, directions=late)) == []


@pytest.mark.parametrize("log", [sender_logs.scene, sender_logs.whole])
def test_fires_on_the_log_of_a_sender_over_udp_and_is_silent_on_its_twin(log) -> None:
    ce = [0] * 10 + [1] * 10
    (found,) = check(log([20.0] * 20, ce))
    assert (found.severity, found.confidence) == (Severity.NOTICE, Confidence.HIGH)
    assert "has a window of 20 packets before it and at least 20 in the two" in found.message
    assert check(log([20.0] * 10 + [10.0] * 10, ce)) == []
    assert check(log([20.0] * 20, [1] * 10 + [2] * 10)) == [], "the log begins late"
    assert check(log([6.0] * 20, ce)) == []


def test_the_log_counts_where_packets_show_a_reduction_too() -> None:
    ce = [0] * 10 + [1] * 10
    halved = sender_logs.whole([20.0] * 10 + [10.0] * 10, ce).udp_kernel
    assert check(replace(over_udp(STEADY), udp_kernel=halved)) == []
