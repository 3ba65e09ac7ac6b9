"""A path left idle."""

from l4strace.model import Skipped
from l4strace.rules.l4s504_under_utilisation import check
from tests.support.frames import evidence, rounds
from tests.support.scenes import DIRECTIONS, FLOWS, bottleneck, starving

IDLE = ([60_000] * 100 + [10_000] * 300) * 5


def scene(acked: list[int], **tables: object):
    plain = {
        "flows": FLOWS,
        "directions": DIRECTIONS,
        "bottlenecks": bottleneck("l4s"),
        "rounds": rounds(len(acked), acked_bytes=acked),
    }
    return evidence(**(plain | tables))


def test_fires_on_long_lows_with_an_empty_queue() -> None:
    (found,) = check(scene(IDLE))
    mean, best = (m.value for m in found.measures)
    assert mean < 0.6 * best


def test_silent_on_a_full_path_a_lasting_change_a_queue_and_a_neighbour() -> None:
    assert check(scene([60_000] * 2000)) == []
    assert check(scene([60_000] * 2000 + [10_000] * 2000)) == []
    assert check(scene(IDLE, rounds=rounds(2000, acked_bytes=IDLE, queue_delay_us=5_000.0))) == []
    assert check(scene(IDLE, coexistence=starving(1, 0))) == []


def test_skips_without_data() -> None:
    assert isinstance(check(evidence())[0], Skipped)
