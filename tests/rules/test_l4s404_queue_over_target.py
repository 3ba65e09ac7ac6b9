"""A queue above its target."""

import pytest

from l4strace.rules.l4s404_queue_over_target import check
from tests.support.frames import frame, rounds, stack
from tests.support.scenes import bottleneck, two_flows


def scene(kind: str, queue_us: float, flow: int = 0, **columns: object):
    place = bottleneck(kind, queue_delay_us=queue_us, flow=flow, **columns)
    return two_flows(bottlenecks=place)


@pytest.mark.parametrize(
    ("kind", "queue_us", "threshold"),
    [("l4s", 5_000.0, "2.5 ms"), ("classic", 40_000.0, "30.5 ms"), ("fifo", 200_000.0, "100 ms")],
)
def test_fires_at_a_multiple_of_the_target(kind: str, queue_us: float, threshold: str) -> None:
    (found,) = check(scene(kind, queue_us))
    (measure,) = found.measures
    assert (measure.value, measure.expected) == (queue_us, f"at most {threshold}")
    assert f"(threshold {threshold})" in found.message
    # A recording of 2020: "check the AQM's target" of a FIFO.
    assert ("AQM's target" in found.action) == (kind != "fifo")


@pytest.mark.parametrize(
    ("kind", "queue_us", "flow"),
    [("l4s", 1_500.0, 0), ("l4s", 16_000.0, 1), ("classic", 20_000.0, 0), ("fifo", 50_000.0, 0)],
)
def test_silent_near_the_target(kind: str, queue_us: float, flow: int) -> None:
    assert check(scene(kind, queue_us, flow)) == []


@pytest.mark.parametrize(("kind", "findings"), [("fifo", 1), ("classic", 1), ("per-flow", 2)])
def test_fires_once_for_the_flows_of_one_queue(kind: str, findings: int) -> None:
    """A capture of 2020: one FIFO, and a warning for each of its flows."""
    both = [bottleneck(kind, queue_delay_us=us, flow=flow) for flow, us in enumerate((2e5, 3e5))]
    found = check(two_flows(bottlenecks=stack(*both)))
    assert len(found) == findings
    assert (found[0].flow, "flow 0 waits in it, too" in found[0].message) == (1, findings == 1)


def test_silent_where_two_packets_take_as_long() -> None:
    assert check(scene("l4s", 6_000.0, serialisation_us=3_000.0)) == []


def test_silent_where_jitter_explains_the_delay() -> None:
    assert check(scene("l4s", 6_000.0, noise_us=4_000.0)) == []
    assert check(scene("l4s", 7_000.0, noise_us=4_000.0)) != []


def test_silent_for_classic_flows_marked_early() -> None:
    """Nothing owes a millisecond to packets that are not ECT(1)."""
    assert check(scene("shallow", 5_000.0, flow=1)) == []


def long_queue(delays: list[float], packets: list[int], **tables: object):
    """A FIFO with a median of 200 ms in steady rounds, and rounds of its own."""
    own = rounds(len(delays), queue_delay_us=delays, acked_packets=packets)
    place = bottleneck("fifo", queue_delay_us=200_000.0)
    return check(two_flows(bottlenecks=place, rounds=own, **tables))


def test_the_median_is_that_of_the_packets() -> None:
    """Simulated run s9401-089: 113 ms in steady rounds, beside 495 ms of one-way delay."""
    delays, packets = [150_000.0] * 20 + [490_000.0] * 10, [4] * 20 + [400] * 10
    (found,) = long_queue(delays, packets)
    assert "does not drain: the median queue delay is 490 ms" in found.message
    assert found.measures[0].value == 490_000.0
    (found,) = long_queue(delays, packets, paths=frame("paths", near=0, owd_median_us=495_000.0))
    assert "the median queue delay is 495 ms" in found.message


def test_a_queue_that_drains_at_times_is_long() -> None:
    (found,) = long_queue([2_000.0] * 5 + [250_000.0] * 15, [40] * 20)
    assert found.message.startswith("The queue is long: the median queue delay is 250 ms")


def test_silent_where_most_packets_wait_less() -> None:
    assert long_queue([60_000.0] * 5 + [250_000.0] * 15, [900] * 5 + [9] * 15) == []
