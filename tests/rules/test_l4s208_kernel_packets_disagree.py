"""Kernel counters against the wire."""

from dataclasses import replace

import polars as pl
import pytest

from l4strace.model import Finding
from l4strace.rules.l4s208_kernel_packets_disagree import NO_LOG, RULE, check
from tests.support.frames import evidence, frame, rounds, stack
from tests.support.scenes import FLOWS, log


def scene(lo: int = 1, hi: int = 1, first: int = 0, **columns: object):
    """A log that counts one mark a round of 10 ms; the feedback of each round allows lo to hi."""
    fed = {"ce_fed_back_lo": lo, "ce_fed_back_hi": hi, "ce_fed_back_best": lo}
    directions = stack(
        frame("directions", flow=0, data_ect1=1000, **fed),
        frame("directions", flow=1, data_ect0=1000),
    )
    marked = rounds(200, ce_lo=lo, ce_hi=hi).slice(first)
    return evidence(flows=FLOWS, directions=directions, rounds=marked, kernel=log(**columns))


@pytest.mark.parametrize("bounds", [(2, 2), (0, 0)])
def test_fires_when_the_marks_lie_outside_the_bounds(bounds: tuple[int, int]) -> None:
    (found,) = check(scene(*bounds))
    assert found.measures[0].value == pytest.approx(199, abs=1)


def test_silent_where_the_capture_began_late() -> None:
    """Counters are compared over the common time: 100 of 200 rounds."""
    assert check(scene(first=100)) == []


def test_a_sample_of_another_socket_does_not_count() -> None:
    counts = list(range(200))
    counts[100] = 5000
    assert check(scene(delivered_ce=counts)) == []


def test_fires_when_more_is_in_flight_than_the_window_allows() -> None:
    (found,) = check(scene(snd_cwnd=20))
    assert [m.value for m in found.measures] == [1.0]


def test_silent_when_they_agree_or_pacing_keeps_the_window_open() -> None:
    assert check(scene()) == []
    assert check(scene(snd_cwnd=80)) == []


def test_silent_on_a_handful_of_samples() -> None:
    assert check(scene(count=5, delivered_ce=1000)) == []


@pytest.mark.parametrize(("marks", "fires"), [(1, 0), (2, 1)])
def test_fires_on_the_log_of_a_sender_over_udp_and_is_silent_on_its_twin(
    marks: int, fires: int
) -> None:
    kernel = scene(marks, marks)
    udp = replace(
        kernel,
        flows=FLOWS.with_columns(transport=pl.lit("udp-prague")),
        kernel=kernel.kernel.clear(),
        udp_kernel=kernel.kernel,
    )
    found = check(udp)
    assert [one.message.split(" on CE")[0] for one in found] == [
        "The sender's log and packets disagree"
    ] * fires
    assert {one.headline for one in found} <= set(RULE.headlines)


@pytest.mark.parametrize(
    ("vantage", "marks", "fires"),
    [("server", 1, 0), ("server", 3, 1), ("server", 0, 1), ("client", 3, 0), ("unknown", 3, 0)],
)
def test_marks_that_reach_the_receiver_stand_for_feedback_that_is_encrypted(
    vantage: str, marks: int, fires: int
) -> None:
    """A qlog that counts one mark a round; the capture is at the receiver, or elsewhere."""
    slots = rounds(200, ce=marks)
    seen = evidence(
        udp_flows=FLOWS.with_columns(transport=pl.lit("quic"), vantage=pl.lit(vantage)),
        udp_rounds=slots,
        udp_kernel=log(),
    )
    found = [one for one in check(seen) if isinstance(one, Finding)]
    assert len(found) == fires
    assert all("arrived with CE" in one.message for one in found)


def test_a_log_without_feedback_in_clear_is_not_judged() -> None:
    (why,) = check(evidence(udp_flows=FLOWS, udp_kernel=log()))
    assert why.reason == NO_LOG
    plain = dict.fromkeys(("packets", "payload_bytes", "ect1"), 9)
    none = dict.fromkeys(("not_ect", "ect0", "ce"), 0)
    quic = FLOWS.with_columns(transport=pl.lit("quic"))
    sent = frame("directions", flow=int(quic["flow"][0]), **plain, **none)
    (why,) = check(evidence(udp_flows=quic, udp_directions=sent, udp_kernel=log()))
    assert why.reason.endswith("(SSLKEYLOGFILE) would show it")
