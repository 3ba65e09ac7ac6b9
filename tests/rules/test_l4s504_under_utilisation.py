"""A path left idle."""

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.model import Confidence, Finding, Severity, Skipped
from l4strace.rules.l4s504_under_utilisation import check
from tests.support.datagrams import LINK, over_udp, run
from tests.support.frames import MS, evidence, rounds
from tests.support.phases import phases
from tests.support.scenes import DIRECTIONS, FLOWS, path_noise, two_flows

LOW = {"rate_bps": 6e6, "low_ns": 4_500 * MS, "low_share": 0.9}
"""6 of 50 Mbit/s."""


def found(noise: pl.DataFrame | None = None, rounds: pl.DataFrame | None = None, **columns: object):
    tables = {"noise": path_noise() if noise is None else noise}
    tables |= {} if rounds is None else {"rounds": rounds}
    return check(two_flows(phases=phases(50.0, **(LOW | columns)), **tables))


def test_fires_on_long_lows_with_an_empty_queue() -> None:
    (finding,) = found()
    assert finding.message == (
        "The path was not full: from t=0.000 s to t=5.0 s it carried 6 Mbit/s of 50 Mbit/s. For "
        "90 % of the time the rate was below 60 % of that although the queue was empty."
    )
    assert [m.value for m in finding.measures] == [6e6, 50e6]
    assert finding.confidence is Confidence.MEDIUM


def test_fires_on_lows_of_two_seconds() -> None:
    """Simulated run s8104-177: 1.7 of 2.9 Mbit/s, below 60 % for 2.1 s after slow start."""
    assert len(found(low_ns=2_100 * MS, low_share=0.41)) == 1
    assert found(low_ns=1_900 * MS, low_share=0.41) == []


def test_a_capacity_from_trains_alone_is_a_range() -> None:
    (finding,) = found(capacity_shown=False)
    assert finding.confidence is Confidence.MEDIUM
    assert "it carried 6 Mbit/s of about 43.8 to 50 Mbit/s, as packet trains show." in (
        finding.message
    )


def test_the_rate_that_growing_flows_reach_is_the_least_that_the_path_carries() -> None:
    (finding,) = found(capacity_shown=False, ramp_ns=4_600 * MS)
    assert "6 Mbit/s of at least 50 Mbit/s, which the flows reached without" in finding.message
    assert finding.measures[1].name == "capacity, at least"


@pytest.mark.parametrize("noise", [{"release_us": 7_000.0}, {"jitter_us": 630.0}])
def test_jitter_and_bursts_make_a_path_look_faster(noise: dict[str, float]) -> None:
    """Simulated run s8101-006: "59.9 Mbit/s of 47.6 Gbit/s", on a link of 86 Mbit/s with bursts."""
    (finding,) = found(noise=path_noise(**noise))
    assert finding.confidence is Confidence.LOW
    assert "of at most 50 Mbit/s (jitter and bursts make the path look faster)." in finding.message
    assert finding.measures[1].name == "capacity, at most"
    (quiet,) = found(noise=path_noise(jitter_us=240.0))
    assert quiet.confidence is Confidence.MEDIUM


@pytest.mark.parametrize(
    ("mbit", "noise", "severity"),
    [
        (1.7, {}, Severity.WARNING),
        (6.0, {}, Severity.NOTICE),
        (1.7, {"jitter_us": 630.0}, Severity.NOTICE),
    ],
)
def test_a_path_that_is_mostly_idle_is_a_warning(
    mbit: float, noise: dict[str, float], severity: Severity
) -> None:
    """Simulated run s8103-002: 1.7 of 14.8 Mbit/s, a notice of low confidence."""
    rate = {"rate_bps": 1e6 * mbit, "capacity_bps": 14.8e6, "capacity_shown": False}
    (finding,) = found(noise=path_noise(**noise), **rate)
    assert finding.severity is severity


@pytest.mark.parametrize(
    ("grows", "marks", "steady"), [(0, 9, True), (2_000, 0, True), (2_000, 9, False)]
)
def test_a_steady_rate_is_what_an_application_asks_for(
    grows: int, marks: int, steady: bool
) -> None:
    """Simulated run s8101-212: a paced flow was to check how slow start ended."""
    sent = rounds(200, acked_bytes=[10_000 + grows * (i // 50) for i in range(200)])
    (finding,) = found(rounds=sent, rate_bps=1.6e6, marks=marks)
    assert ("Its rate is steady" in finding.message) == steady
    assert finding.action.startswith("Check whether the application" if steady else "Check how")
    assert finding.severity is (Severity.NOTICE if steady else Severity.WARNING)


def test_silent_on_a_full_path_single_dips_and_coarse_rates() -> None:
    assert found(low_ns=0, low_share=0.0) == []
    assert found(low_share=0.2) == []
    assert found(low_ns=1_000 * MS) == []
    assert found(low_share=None) == []
    assert found(capacity_bps=0.5e6) == []


def test_not_judged_where_the_clock_was_set() -> None:
    stepped = DIRECTIONS.with_columns(clock_ahead_ns=pl.lit(3_600_000 * MS))
    (skipped,) = check(evidence(flows=FLOWS, directions=stepped, phases=phases(50.0, **LOW)))
    assert isinstance(skipped, Skipped)
    assert "the clock" in skipped.reason


def test_skips_without_data() -> None:
    assert isinstance(check(evidence())[0], Skipped)


@pytest.mark.parametrize(("mbit", "judged"), [(2.0, True), (14.0, False)])
def test_what_flows_over_udp_leave_unsure_is_not_judged(mbit: float, judged: bool) -> None:
    """The flow over UDP ends at 5 s, and TCP takes 6 of 20 Mbit/s from then on."""
    rates = [LINK - mbit] * 500 + [6.0] * 1000
    marks = [1] * 500 + [0] * 1000
    made = run(rates, over_udp([mbit] * 100, "quic"), ce_best=marks)
    (found,) = check(pipeline.derive(made, strict=True))
    assert isinstance(found, Finding) is judged
    if isinstance(found, Skipped):
        assert found.reason.startswith("flow 9 (QUIC) takes part of the link over UDP")
