"""Jitter of a path."""

import pytest

from l4strace.rules.l4s405_path_jitter import check
from tests.support.frames import evidence
from tests.support.scenes import bottleneck, path_noise, two_flows


def scene(**columns: object):
    return two_flows(noise=path_noise(**columns))


def test_fires_once_for_a_path_at_the_flow_with_most_rounds() -> None:
    (found,) = check(scene(common_us=3_200.0))
    assert found.flow == 1
    assert "3.2 ms of jitter (threshold 1 ms)" in found.message
    assert "one capture cannot show" in found.message


@pytest.mark.parametrize(
    ("by", "said", "look"),
    [
        ("ack", "the ACK direction adds it", "Look in the ACK direction for"),
        ("both", "both directions add it", "Look in both directions for"),
    ],
)
def test_fires_and_names_the_path_that_adds_it(by: str, said: str, look: str) -> None:
    (found,) = check(scene(common_us=3_200.0, added_by=by))
    assert said in found.message
    assert found.action.startswith(look)


def test_fires_where_packets_arrive_faster_than_any_queue_lets_them_out() -> None:
    """Simulated run s8104-043: 6 ms apart at 420 times the rate of the path, behind a queue."""
    (found,) = check(scene(common_us=0.0, jitter_us=6_300.0, train_times=420.0))
    assert "6.3 ms of jitter" in found.message
    assert check(scene(common_us=0.0, jitter_us=6_300.0, train_times=1.1)) == []
    assert check(scene(common_us=0.0, jitter_us=6_300.0, train_times=None)) == []


def test_silent_on_a_steady_path_and_on_a_bursty_link() -> None:
    assert check(scene(common_us=800.0)) == []
    assert check(scene(common_us=3_200.0, release_us=8_000.0)) == []


def test_silent_where_a_packet_of_each_other_flow_takes_as_long() -> None:
    """Simulated run s8105-223: five queues of fq_codel take turns, with 4 ms for a packet each."""
    place = bottleneck("per-flow", flow=1, serialisation_us=4_000.0)
    for flows, found in ((5, 0), (2, 1)):
        noise = path_noise(common_us=5_800.0, flow=list(range(flows)), rounds=100)
        tables = {"bottlenecks": place}
        assert len(check(evidence(noise=noise, **tables))) == found


def test_silent_where_one_packet_takes_as_long() -> None:
    """Lab run s1001-026: 1.8 ms where a packet of another flow takes 4.5 ms."""
    noise = path_noise(common_us=1_800.0)
    for packet_us, found in ((4_500.0, 0), (900.0, 1)):
        place = bottleneck("classic", flow=1, serialisation_us=packet_us)
        tables = {"bottlenecks": place}
        assert len(check(evidence(noise=noise, **tables))) == found
