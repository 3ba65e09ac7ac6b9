"""One queue delay: what the chart draws is what the verdict rests on."""

from pathlib import Path

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.derive import queue_delay
from l4strace.evidence import Evidence
from l4strace.page.case import Case
from l4strace.page.figures import queue
from tests.support.frames import capture, evidence, frame, rounds, stack


def late() -> Evidence:
    """A flow that found the queue empty (10 ms), and one that starts into 5 ms of queue."""
    made = capture(
        sources=frame("sources", first_ns=0, last_ns=1_000_000_000),
        flows=frame("flows", flow=[0, 1]),
        directions=frame("directions", flow=[0, 1], data_ect1=1000),
        rounds=stack(
            rounds(100, rtt_min_us=[10_000.0] * 9 + [15_000.0] * 91, rtt_mean_us=15_000.0),
            rounds(100, flow=1, rtt_min_us=[15_000.0] + [15_400.0] * 99, rtt_mean_us=15_500.0),
        ),
    )
    return pipeline.derive(made)


def test_the_smallest_rtt_is_that_of_the_path() -> None:
    delays = late().rounds.group_by("flow", maintain_order=True).agg(pl.col("queue_delay_us").max())
    assert delays["queue_delay_us"].to_list() == [5_000.0, 5_500.0]


def test_a_flow_with_a_flat_floor_has_a_longer_path() -> None:
    """61 ms more to another host of the network: its own smallest RTT counts."""
    far = [71_000.0, 71_000.0, *[71_400.0 + 100.0 * i for i in range(18)]]
    made = capture(
        flows=frame("flows", flow=[0, 1]),
        directions=frame("directions", flow=[0, 1], data_ect1=1000),
        rounds=stack(rounds(20), rounds(20, flow=1, rtt_min_us=far, rtt_mean_us=72_000.0)),
    )
    delays = pipeline.derive(made).rounds.filter(flow=1)["queue_delay_us"]
    assert delays.to_list() == [1_000.0] * 20


@pytest.mark.parametrize(
    ("handshake", "codepoint", "count", "delay"),
    [
        ("full", "ect1", 100, 1_000.0),
        ("none", "ect1", 100, 9_000.0),
        ("full", "ect0", 100, 9_000.0),
        ("full", "ect1", 30, 9_000.0),
    ],
)
def test_a_flow_that_never_waits_as_little_as_others_has_a_longer_path(
    handshake: str, codepoint: str, count: int, delay: float
) -> None:
    """Lab run s1201-108: on a slow link its floor is not flat, and 8 ms more read as queue.

    One that began before the capture, waits in another queue, or was there for a moment may have
    met nothing else.
    """
    far = [18_000.0, *[18_500.0] * (count - 1)]
    made = capture(
        flows=frame("flows", flow=[0, 1], handshake=handshake),
        directions=stack(
            frame("directions", data_ect1=1000),
            frame("directions", flow=1, **{f"data_{codepoint}": 1000}),
        ),
        rounds=stack(
            rounds(100, rtt_min_us=[10_000.0, 12_000.0] * 50, rtt_mean_us=12_000.0),
            rounds(count, flow=1, rtt_min_us=far, rtt_mean_us=19_000.0),
        ),
    )
    assert (
        pipeline.derive(made).rounds.filter(flow=1)["queue_delay_us"].to_list() == [delay] * count
    )


def test_chart_and_verdict_agree() -> None:
    evidence = late()
    direction = Case(evidence, pipeline.judge(evidence)).direction(1, True)
    assert direction is not None
    after_its_start = direction.rounds.slice(10)
    drawn = after_its_start["queue_delay_us"].median()
    assert drawn == evidence.bottlenecks.filter(flow=1)["queue_delay_us"][0] == 5_500.0
    figure = queue.draw(direction)
    assert figure is not None
    assert "median 5.5 ms" in queue.describe(direction).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("vantage", "delay"), [("client", 400.0), ("middle", 400.0), ("server", None)]
)
def test_at_the_receiver_there_is_no_queue_delay(vantage: str, delay: float | None) -> None:
    made = capture(
        flows=frame("flows", vantage=vantage), directions=frame("directions"), rounds=rounds(3)
    )
    assert pipeline.derive(made).rounds["queue_delay_us"].to_list() == [delay] * 3


def test_a_capture_at_the_receiver_does_not_lower_the_smallest_rtt() -> None:
    made = capture(
        flows=frame("flows", flow=[0, 1], vantage=["client", "server"]),
        directions=frame("directions", flow=[0, 1]),
        rounds=stack(rounds(2), rounds(2, flow=1, rtt_min_us=30.0)),
    )
    assert pipeline.derive(made).rounds["queue_delay_us"].to_list() == [400.0, 400.0, None, None]


def test_the_trackers_running_estimate_stays_out(fixtures: Path) -> None:
    """It is above the smallest RTT of the direction so far: another number under the same name."""
    read = pipeline.read([str(fixtures / "healthy/healthy.pcap.xz")])
    assert read.rounds["queue_delay_us"].null_count() == read.rounds.height > 0
    assert pipeline.derive(read).rounds["queue_delay_us"].null_count() < read.rounds.height


@pytest.mark.parametrize("at", [0, 10, 19])
def test_a_packet_that_overtook_others_sets_no_base(at: int) -> None:
    """Half of the RTT once, where the path may let packets overtake; elsewhere it is the RTT.

    Lab run s1101-065: that packet was of the first round.
    """
    rtts = [20_000.0] * 20
    rtts[at] = 10_000.0
    for overtaken, cut, delay in ((5, 0, 1_000.0), (0, 40, 1_000.0), (0, 0, 11_000.0)):
        made = capture(
            flows=frame("flows"),
            directions=frame("directions", overtaken=overtaken, options_cut=cut),
            rounds=rounds(20, rtt_min_us=rtts, rtt_mean_us=21_000.0),
        )
        assert pipeline.derive(made).rounds["queue_delay_us"].to_list() == [delay] * 20


def test_waits_are_those_of_the_capture_nearest_to_the_sender() -> None:
    seen = evidence(
        flows=frame("flows", source=[0, 1], vantage=["middle", "client"]),
        directions=frame("directions", source=[0, 1]),
        rounds=stack(*(rounds(9, source=of, queue_delay_us=5.0 + of) for of in (0, 1))),
    )
    waits = queue_delay.waits(seen, seen.directions)
    assert waits.select("source", "timed_us").rows() == [(1, 6.0)]
