"""Reductions in a log of a user-space sender, and what explains them."""

import pytest

from l4strace.derive.senders import logged
from l4strace.evidence import Evidence
from tests.support import scenes
from tests.support.frames import evidence, frame, rounds, stack
from tests.support.sender_logs import RTT, marks, saw, scene, whole


def causes(of: Evidence) -> list[str | None]:
    return logged.reductions(of)["cause"].to_list()


def test_a_reduction_has_the_cause_that_the_counts_show() -> None:
    assert causes(scene(saw(2, 0.1))) == [None, None]
    assert causes(scene(saw(2, 0.1), marks(2))) == ["ce", "ce"]
    assert causes(scene(saw(2, 0.1), lost_packets=marks(2))) == ["loss", "loss"]
    assert causes(scene(saw(2, 0.1), [0, 0, *marks(2)[:-2]])) == [None, None], "two behind it"
    assert causes(scene(saw(2, 0.1), [*marks(2)[1:], 2])) == ["ce", "ce"], "one before it"


def test_logs_without_counts_or_bytes_show_none() -> None:
    assert causes(scene(saw(2, 0.1), frac_cwnd=None)) == []
    assert logged.reductions(evidence()).is_empty()


def test_alpha_is_the_most_that_any_law_makes_of_the_marks() -> None:
    found = logged.reductions(scene(saw(20, 0.1), marks(20)))["half_alpha"]
    assert found[0] > 0.2
    # One of 200 packets: alpha comes near to its share.
    assert found[-1] < 0.01


def test_windows_in_whole_packets_bound_a_reduction() -> None:
    """UDP Prague's: from 20 packets, which may be little more than 19, to 15."""
    found = logged.reductions(whole(saw(2, 0.25), marks(2)))
    assert found["cause"].to_list() == ["ce", "ce"]
    assert found["fraction"].to_list() == [0.25, 0.25]
    assert found["least"].to_list() == [1 - 15 / 19] * 2


def test_a_window_in_bytes_has_no_bounds() -> None:
    found = logged.reductions(scene(saw(2, 0.25)))
    assert found["least"].to_list() == found["fraction"].to_list()


def test_a_window_that_moves_with_the_rtt_shows_no_reduction() -> None:
    """UDP Prague's up to 2 ms, and that of senders that are not Prague."""
    close = saw(2, 0.25)
    assert causes(whole(close, rtt_ms=2)) == []
    assert causes(whole(close, cc="scream")) == []


def test_reports_that_are_far_apart_show_no_single_reduction() -> None:
    assert len(causes(whole(saw(2, 0.25), rtt_ms=RTT // 2))) == 2
    assert causes(whole(saw(2, 0.25), rtt_ms=RTT // 2 - 1)) == []
    assert causes(scene(saw(2, 0.25), srtt_us=1000.0 * (RTT // 2 - 1))) == []


def steps(*parts: tuple[int, float]) -> list[float]:
    """So many samples with each window."""
    return [window for length, window in parts for _ in range(length)]


def test_a_response_is_the_least_window_of_two_round_trips() -> None:
    """After the loss at t=0.2 s halved at once, then a round trip later, then three later."""
    lost = [0] * 10 + [1] * 10
    for late, fraction in ((10, 0.5), (11, 0.5), (13, 0.0)):
        for log in (scene, whole):
            made = log(steps((late, 20.0), (20 - late, 10.0)), lost_packets=lost)
            (row,) = logged.responses(made, "lost").to_dicts()
            assert (row["cwnd_before"], row["fraction"]) == (20.0, fraction)
            assert row["round"] == 10
            assert row["fraction_hi"] == pytest.approx(fraction + 0.05 * (log is whole))


def test_a_log_that_ends_shows_no_response() -> None:
    lost = [0] * 18 + [1] * 2
    assert logged.responses(scene([20.0] * 20, lost_packets=lost), "lost").is_empty()


def test_controllers_that_are_not_prague_may_respond_to_something_else() -> None:
    lost = [0] * 10 + [1] * 10
    bbr = scene([20.0] * 20, lost_packets=lost, alpha=None, cc="bbr")
    assert logged.responses(bbr, "lost").is_empty()
    assert logged.responses(whole([20.0] * 20, lost_packets=lost), "lost").height == 1


@pytest.mark.parametrize("srtt_us", [0.0, 1e300, float("nan")])
def test_an_rtt_that_is_none_makes_no_round(srtt_us: float) -> None:
    assert logged.windows(scene([20.0] * 9, srtt_us=srtt_us)).is_empty()


def test_a_log_stands_beside_the_rounds_nearest_to_its_sender() -> None:
    seen = evidence(
        flows=frame("flows", source=[0, 1], vantage=["middle", "client"]),
        directions=frame("directions", source=[0, 1]),
        rounds=stack(*(rounds(9, source=of, ce_lo=1 + of, ce_hi=3) for of in (0, 1))),
        kernel=stack(scenes.log(), scenes.log(flow=None)),
    )
    found = logged.beside_rounds(seen).select("source", "samples", "delivered_ce", "low", "high")
    assert found.rows() == [(1, 200, 9, 18, 27)]
