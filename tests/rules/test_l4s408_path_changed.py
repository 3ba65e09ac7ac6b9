"""Changes of a path during the run."""

import polars as pl

from l4strace import pipeline
from l4strace.model import Confidence, Skipped
from l4strace.rules.l4s408_path_changed import check
from l4strace.rules.support import paths
from tests.support.datagrams import COUNT, LINK, over_udp, run
from tests.support.phases import phases
from tests.support.scenes import two_flows


def found(*capacities: float, **columns: object):
    made = phases(*capacities, **columns)
    return check(two_flows(phases=made))


def test_fires_with_rates_and_times() -> None:
    (finding,) = found(47.8, 4.78, 47.8)
    assert finding.message == (
        "The capacity of the path for payload was 47.8 Mbit/s, fell to 4.78 Mbit/s at t=5.0 s and "
        "rose to 47.8 Mbit/s at t=10.0 s."
    )
    assert finding.confidence is Confidence.HIGH
    assert finding.span_ns == (5_000_000_000, 10_000_000_000)
    names = [m.name for m in finding.measures]
    assert names == [*(f"capacity, phase {n}" for n in (1, 2, 3)), "changes"]


def test_a_capacity_that_was_not_shown_is_a_bound() -> None:
    (finding,) = found(4.0, 30.0, capacity_shown=[True, False])
    assert "rose to at least 26.2 Mbit/s" in finding.message
    assert finding.measures[1].name == "capacity, phase 2, at least"


def test_a_small_change_is_less_certain_and_many_are_summed_up() -> None:
    (small,) = found(10.0, 7.0)
    assert small.confidence is Confidence.MEDIUM
    (many,) = found(10.0, 5.0, 12.0, 4.0, 9.0)
    assert many.message == (
        "The capacity of the path for payload changed 4 times between 4 Mbit/s and "
        "12 Mbit/s, first at t=5.0 s."
    )


def test_a_change_between_others_that_is_not_sure_is_not_told(monkeypatch) -> None:
    """50, 20, perhaps 30, and 24 Mbit/s: the last one fell."""
    made = phases(50.0, 20.0, 30.0, 24.0).with_columns(
        flow=0, forward=True, beside_bps=0.0, sure=pl.Series([True, True, False, True])
    )
    monkeypatch.setattr(paths, "queued", lambda _: [made.to_dicts()])
    finding, skipped = check(two_flows(phases=phases(50.0)))
    assert finding.message == (
        "The capacity of the path for payload was 50 Mbit/s, fell to 20 Mbit/s at t=5.0 s and "
        "fell from 30 Mbit/s to 24 Mbit/s at t=15.0 s."
    )
    assert [m.name for m in finding.measures][:3] == [f"capacity, phase {n}" for n in (1, 2, 4)]
    assert isinstance(skipped, Skipped)


def test_fires_on_a_longer_route() -> None:
    (finding,) = found(50.0, 50.0, changed=[None, "base RTT"], base_rtt_us=[10_000.0, 35_000.0])
    assert finding.message == (
        "The base RTT of the path rose from 10.0 to 35.0 ms at t=5.0 s: the route changed."
    )


def test_silent_on_one_phase_and_on_a_change_of_marking() -> None:
    assert found(50.0) == []
    assert found(50.0, 50.0, changed=[None, "marking"]) == []


def test_a_fall_ends_at_no_bound_from_below() -> None:
    """A capture of 2020: "fell from 6.94 Mbit/s to at least 2.23 Mbit/s"."""
    (finding,) = found(6.94, 2.55, capacity_shown=[True, False])
    assert "fell to about 2.55 Mbit/s" in finding.message


def test_a_change_that_flows_over_udp_may_explain_is_not_judged() -> None:
    """They may take another link, or be lost behind the capture."""
    more = [0.0] * 100 + [14.0] * 200
    made = pipeline.derive(run([LINK] * COUNT, over_udp(more, "quic")), strict=True)
    (skipped,) = check(made)
    assert skipped == Skipped(
        "flow 9 (QUIC) takes part of the link over UDP; whether all of it arrives is not shown",
        0,
    )


def test_fires_on_a_fall_that_no_flow_over_udp_explains() -> None:
    queue = [10_400.0] * 500 + [60_000.0] * 10 + [10_400.0] * 990
    made = run([18.0] * 500 + [6.0] * 1000, over_udp([2.0] * 300, "rtp"), rtt_mean_us=queue)
    (finding,) = check(pipeline.derive(made, strict=True))
    assert finding.message == (
        "The capacity of the path for payload was 20 Mbit/s and fell to 8 Mbit/s at t=5.0 s."
    )
