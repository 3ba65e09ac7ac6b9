"""Latency spikes."""

import polars as pl

from l4strace.model import Severity
from l4strace.rules.l4s503_latency_spike import check
from tests.support.frames import MS, evidence, frame
from tests.support.phases import phases
from tests.support.scenes import FLOWS, two_flows


def scene(spikes: pl.DataFrame):
    return two_flows(spikes=spikes)


def spikes(*lengths_ms: int, **columns: object) -> pl.DataFrame:
    starts = [5_000 * MS * (i + 1) for i in range(len(lengths_ms))]
    plain = {
        "start_ns": starts,
        "end_ns": [s + n * MS for s, n in zip(starts, lengths_ms, strict=True)],
        "height_us": 120_000.0,
        "one_way": True,
        "usual_us": 400.0,
        "rounds": 10,
        "path": "a>b",
        "flows": 1,
        "hit": "0",
        "lost": 0,
        "cause": "rate-drop",
    }
    return frame("spikes", **(plain | columns))


def test_fires_with_start_height_length_and_cause() -> None:
    (found,) = check(scene(spikes(300, 1500)))
    assert found.severity is Severity.WARNING
    assert found.message == (
        "Latency spike of 1.5 s from t=10.0 s: queue delay reached 120 ms (usually 0.4 ms). "
        "Likely cause: the bottleneck became slower. It is the highest of 2 spikes with this cause."
    )
    assert [m.value for m in found.measures] == [120_000.0, 400.0, 1.5]


def test_spikes_without_a_known_cause_are_counted_as_such() -> None:
    (found,) = check(scene(spikes(300, 1500, cause="unknown")))
    assert found.message.endswith("It is the highest of 2 spikes of unknown cause.")


def test_fires_once_for_the_spikes_of_one_episode() -> None:
    """Six spikes of 300 ms, 200 ms apart, of which two show their cause."""
    starts = [5_000 * MS + 500 * MS * i for i in range(6)]
    why = ["unknown", "burst", "unknown", "burst", "unknown", "unknown"]
    heights = [100_000.0, 90_000.0, 120_000.0, 80_000.0, 70_000.0, 60_000.0]
    made = spikes(
        *[300] * 6,
        start_ns=starts,
        end_ns=[start + 300 * MS for start in starts],
        height_us=heights,
        cause=why,
    )
    (found,) = check(scene(made))
    assert found.message == (
        "6 latency spikes in 2.8 s from t=5.0 s: queue delay reached 120 ms (usually 0.4 ms). "
        "Likely cause: a burst of the sender."
    )
    assert found.severity is Severity.WARNING
    assert found.span_ns == (starts[0], starts[-1] + 300 * MS)
    assert [m.value for m in found.measures] == [120_000.0, 400.0, 1.8]


def test_a_gap_as_long_as_the_spikes_around_it_ends_an_episode() -> None:
    def found(gap_ms: int) -> str:
        starts = [5_000 * MS, 5_000 * MS + (300 + gap_ms) * MS]
        ends = [start + 300 * MS for start in starts]
        (one,) = check(scene(spikes(300, 300, start_ns=starts, end_ns=ends)))
        return one.message

    assert found(590).startswith("2 latency spikes in 1.2 s from t=5.0 s")
    assert found(600).startswith("Latency spike of 0.3 s from t=5.0 s")


def test_a_burst_of_slow_start_is_named_with_what_fills_the_path() -> None:
    """Prague at 5 Mbit/s and 160 ms: "Slow start overshot" with 10 packets in flight."""
    burst = {"cause": "burst", "culprit": 0, "peak_packets": 10, "fills_packets": 66.0}
    (found,) = check(scene(spikes(300, **burst)))
    assert (
        "Likely cause: a burst of flow 0 (port 40001, ECT(1)) in slow start: at most 10 packets in "
        "flight (66 fill the path)." in found.message
    )


def test_fires_as_notice_when_short() -> None:
    (found,) = check(scene(spikes(300)))
    assert found.severity is Severity.NOTICE


def test_one_finding_for_each_cause_with_all_flows_that_waited() -> None:
    made = spikes(300, 300, cause=["rate-drop", "new-flow"], flows=3, hit="0, 2, 3", lost=7)
    found = check(scene(made))
    assert len(found) == 2
    assert all(
        f.message.endswith("Flows 0, 2 and 3 waited. 7 packets retransmitted.") for f in found
    )


def test_silent_on_slow_start_which_l4s204_reports() -> None:
    assert check(scene(spikes(300, cause="slow-start"))) == []


def test_silent_without_spikes() -> None:
    assert check(scene(frame("spikes").clear())) == []


def test_a_spike_names_the_fall_of_capacity_that_made_it() -> None:
    """A recording of 2020: "the bottleneck became slower", from 47.8 to 4.83 Mbit/s."""
    fell = phases(47.8, 4.83, 47.8)

    def message(**columns: object) -> str:
        slow = spikes(1500, path=fell["path"][0], start_ns=5_200 * MS, **columns)
        (found,) = check(two_flows(spikes=slow, phases=fell))
        return found.message

    words = "Likely cause: the capacity of the path fell from 47.8 Mbit/s to 4.83 Mbit/s at t=5.0 s"
    assert words in message()
    assert "capacity" not in message(cause="new-flow")
    fell = phases(47.8, 44.0, 4.83)
    assert "fell from 47.8 Mbit/s to 44 Mbit/s" in message()
    # A Wi-Fi recording of 2020: a cause half a second after the spike began.
    fell = phases(47.8, 4.83).with_columns(start_ns=pl.Series([0, 5_700 * MS]))
    assert "Likely cause: the bottleneck became slower" in message()
    fell = phases(4.83, 47.8)
    assert "Likely cause: the bottleneck became slower" in message()


def test_fires_and_names_the_congestion_control_where_it_is_known() -> None:
    """A spike "of unknown cause" stood beside `cc: bbr` of that very socket."""
    bbr = frame("directions", flow=[0, 1], data_ect0=1000, cc="bbr")
    unknown = evidence(flows=FLOWS, directions=bbr, spikes=spikes(300, cause="unknown"))
    (found,) = check(unknown)
    assert "Its cause is unknown (flow 0 runs bbr)." in found.message
    began = spikes(300, cause="new-flow", culprit=1)
    (found,) = check(evidence(flows=FLOWS, directions=bbr, spikes=began))
    assert "another flow started, flow 1 (port 40002, bbr, ECT(0))." in found.message
