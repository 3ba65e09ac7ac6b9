"""The first CE without a cut."""

from l4strace.model import Confidence
from l4strace.rules.l4s205_alpha_starts_at_zero import check
from tests.support.frames import evidence, frame, rounds
from tests.support.scenes import DIRECTIONS, FLOWS


def kernel_cut(**columns: object):
    plain = {"origin": "kernel", "ts_ns": 5, "alpha": 0.0, "fraction": 0.0, "cwnd_before": 1488.0}
    return evidence(flows=FLOWS, directions=DIRECTIONS, cuts=frame("cuts", **(plain | columns)))


def packets(flight: list[int]):
    marks = [0, 0, 0, 0, 0, 3] + [3] * (len(flight) - 6)
    made = rounds(len(flight), inflight_max_packets=flight, ce_best=marks)
    return evidence(flows=FLOWS, directions=DIRECTIONS, rounds=made)


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
