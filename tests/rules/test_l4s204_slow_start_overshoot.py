"""Overshoot of slow start."""

import polars as pl
import pytest

from l4strace.model import Confidence, Severity
from l4strace.rules.l4s204_slow_start_overshoot import check
from tests.support.frames import MS, evidence, frame
from tests.support.scenes import FLOWS, two_flows


def scene(**columns: object):
    return two_flows(spikes=spike(**columns))


def spike(**columns: object) -> pl.DataFrame:
    plain = {
        "path": "a>b",
        "start_ns": 100 * MS,
        "end_ns": 2_100 * MS,
        "height_us": 500_000.0,
        "one_way": False,
        "usual_us": 400.0,
        "rounds": 50,
        "flows": 1,
        "hit": "0",
        "lost": 0,
        "cause": "slow-start",
        "culprit": 0,
        "peak_packets": 400,
        "fills_packets": 42.0,
    }
    return frame("spikes", **(plain | columns))


def test_one_packet_fills_a_path() -> None:
    (found,) = check(scene(fills_packets=1.2))
    assert "(1 fills the path)" in found.message


def test_fires_on_a_flight_ten_times_the_path() -> None:
    (found,) = check(scene())
    assert (found.severity, found.confidence) == (Severity.WARNING, Confidence.HIGH)
    assert found.message == (
        "Slow start overshot: up to 400 packets were in flight (42 fill the path), and queue delay "
        "reached 500 ms; it was above its usual range for 2.0 s from t=0.1 s."
    )
    assert [m.value for m in found.measures] == [400, 500_000.0, 0]


def test_fires_once_for_the_spikes_of_one_slow_start() -> None:
    """Six findings of one episode, by the same flow on the same path."""
    six = {
        "start_ns": [n * 600 * MS for n in range(6)],
        "height_us": [5e4, 6e4, 9e4, 4e4, 3e4, 2e4],
    }
    (found,) = check(scene(**six, end_ns=[(n * 600 + 300) * MS for n in range(6)]))
    assert "reached 90 ms" in found.message
    assert found.message.endswith("It is the highest of 6 spikes of this slow start.")


def test_fires_as_notice_when_it_is_over_soon() -> None:
    (found,) = check(scene(end_ns=400 * MS))
    assert found.severity is Severity.NOTICE


def test_a_flight_that_nearly_fits_is_only_probable() -> None:
    (found,) = check(scene(peak_packets=60))
    assert found.message.startswith("Slow start probably overshot: up to 60 packets")
    assert found.confidence is Confidence.MEDIUM


def test_the_height_is_less_sure_where_packets_were_lost() -> None:
    (found,) = check(scene(lost=5, hit="0, 1", flows=2))
    assert "queue delay reached about 500 ms" in found.message
    assert found.message.endswith("Flows 0 and 1 waited. 5 packets retransmitted.")
    (sure,) = check(scene(lost=5, one_way=True))
    assert "about" not in sure.message


def test_what_is_sure_is_not_said_to_be_probable() -> None:
    few = {"peak_packets": 60}
    for columns in ({}, few, few | {"one_way": True}):
        (found,) = check(scene(**columns))
        probably = "Slow start probably overshot" in found.message
        assert probably == (found.confidence is Confidence.MEDIUM), columns


def test_the_height_is_a_lower_bound_where_lost_packets_met_a_cut_sack() -> None:
    cut = frame("directions", flow=[0, 0], forward=[True, False], options_cut=[0, 9])

    def message(directions: pl.DataFrame, **columns: object) -> str:
        lines = spike(**columns)
        (found,) = check(evidence(flows=FLOWS, directions=directions, spikes=lines))
        return found.message

    assert "queue delay reached at least 500 ms" in message(cut, lost=5)
    assert "queue delay reached 500 ms" in message(cut)
    assert "queue delay reached 500 ms" in message(cut, lost=5, one_way=True)
    data = cut.with_columns(forward=~pl.col("forward"))
    assert "queue delay reached about 500 ms" in message(data, lost=5)


def test_the_flow_is_the_one_that_started() -> None:
    (found,) = check(scene(flow=0, culprit=1))
    assert found.flow == 1


def test_silent_on_spikes_of_other_causes() -> None:
    assert check(scene(cause="rate-drop")) == []
    assert check(scene(cause="new-flow")) == []


def test_names_the_flow_that_waited_where_another_made_the_queue() -> None:
    (found,) = check(scene(flow=1, hit="1", culprit=0))
    assert found.flow == 0
    assert found.message.endswith("from t=0.1 s. Flow 1 waited.")


def test_the_delay_is_that_of_the_flow_that_had_it() -> None:
    """Lab run s1401-149: 11 packets of 4.2 ms and "139 ms", which another queue held."""
    (found,) = check(scene(flow=1, hit="0, 1", flows=2, culprit=0))
    assert "and queue delay of flow 1 reached 500 ms" in found.message
    (long,) = check(scene(height_us=1_663_000.0))
    assert "queue delay reached 1.66 s; it was" in long.message


@pytest.mark.parametrize(("peak", "expected"), [(60, "at most 42"), (400, "below 84")])
def test_a_peak_is_above_what_was_expected(peak: int, expected: str) -> None:
    (found,) = check(scene(peak_packets=peak))
    assert found.measures[0].expected == expected


def test_alpha_is_to_be_checked_of_l4s_senders_only() -> None:
    """Lab run s2501-101: Reno without ECN, "with Prague check how alpha starts"."""
    for culprit, alpha in ((0, True), (1, False)):
        (found,) = check(scene(culprit=culprit))
        assert ("alpha" in found.action) == alpha
