"""Loss on an idle path."""

from l4strace.model import Confidence
from l4strace.rules.l4s410_loss_without_queue import check
from tests.support.frames import evidence, frame, stack
from tests.support.scenes import bottleneck, path_noise


def scene(**tables: object):
    place = bottleneck("l4s", losses=50, loss_delay_us=1_100.0, idle_loss=True)
    return evidence(**({"bottlenecks": place, "noise": path_noise()} | tables))


def test_fires_on_retransmissions_without_a_queue() -> None:
    (found,) = check(scene())
    assert found.confidence is Confidence.MEDIUM
    assert "50 packets retransmitted at a queue delay of 1.1 ms" in found.message


def test_fires_with_the_packets_that_never_arrived() -> None:
    (found,) = check(scene(paths=frame("paths", near=0, far=1, lost=48)))
    assert found.confidence is Confidence.HIGH
    assert "48 packets lost" in found.message


def test_fires_with_rate_and_burst_of_a_policer() -> None:
    limits = {"policed_bps": 9.55e6, "policed_burst_bytes": 82_000.0}
    place = bottleneck("policed", losses=117, loss_delay_us=1_000.0, idle_loss=False, **limits)
    (found,) = check(scene(bottlenecks=place))
    assert found.message == (
        "A policer drops what exceeds 9.55 Mbit/s and bursts of at least 82 kB: 117 packets "
        "retransmitted at a queue delay of 1.0 ms (median)."
    )
    assert found.measures[-1].value == 9.55e6
    (shallow,) = check(scene(bottlenecks=place.with_columns(policed_burst_bytes=0.0)))
    assert shallow.message.startswith("A policer of at least 9.55 Mbit/s drops packets: 117 ")


def test_fires_once_for_each_path() -> None:
    """Lab run s2501-155: the same loss of one path, twice."""
    both = stack(
        *(
            bottleneck("l4s", flow=flow, losses=losses, loss_delay_us=1_100.0, idle_loss=True)
            for flow, losses in ((0, 13), (1, 14))
        )
    )
    (found,) = check(scene(bottlenecks=both))
    assert (found.flow, found.message) == (
        1,
        "The path loses packets without congestion: 14 packets of flow 1 retransmitted at a queue "
        "delay of 1.1 ms (median), and so were packets of 1 more flow.",
    )
    apart = path_noise(path=["a>b", "c>d"])
    assert len(check(scene(bottlenecks=both, noise=apart))) == 2


def test_silent_where_a_queue_stood_or_packets_were_only_late() -> None:
    assert check(scene(bottlenecks=bottleneck("fifo", losses=50, idle_loss=False))) == []
    assert check(scene(noise=path_noise(late_share=0.05))) == []
    assert check(scene(paths=frame("paths", near=0, far=1, lost=0))) == []


def test_silent_where_the_noise_may_be_a_queue() -> None:
    """Lab run s1201-070: PIE drops at 3.5 ms, of which jitter may be 2.1 ms."""
    assert check(scene(noise=path_noise(hides_us=2_100.0))) == []
    assert check(scene(noise=path_noise(hides_us=1_300.0))) != []
