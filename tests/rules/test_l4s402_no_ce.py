"""A queue that never marks."""

from l4strace.model import Confidence, Severity
from l4strace.rules.l4s402_no_ce import check
from tests.support.scenes import bottleneck, two_flows


def scene(kind: str, **columns: object):
    place = bottleneck(kind, **({"losses": 10, "queue_delay_us": 17_700.0} | columns))
    return two_flows(bottlenecks=place)


def test_fires_for_an_l4s_sender_behind_a_fifo() -> None:
    (found,) = check(scene("fifo"))
    assert found.severity is Severity.WARNING
    assert [m.value for m in found.measures] == [0, 17_700.0, 10]


def test_fires_as_information_for_a_classic_sender() -> None:
    (found,) = check(scene("fifo", flow=1))
    assert found.severity is Severity.INFO


def test_fires_with_the_delay_at_loss_of_an_aqm_without_ecn() -> None:
    (found,) = check(scene("dropping", loss_delay_us=8_000.0))
    assert found.message.startswith("An AQM drops instead of marking: no packet is CE")
    assert found.message.endswith("with 10 retransmissions at 8.0 ms.")
    (found,) = check(scene("unmarked", confidence=0.5))
    assert found.confidence is Confidence.LOW


def test_silent_where_the_path_erases_the_marks() -> None:
    """Lab run s2001-090: the PIE of this queue marks, and nobody hears of it."""
    assert check(scene("unmarked", erased=True)) == []
    assert len(check(scene("unmarked", erased=False))) == 1


def test_silent_elsewhere() -> None:
    assert check(scene("classic")) == []
    assert check(scene("unknown")) == []
