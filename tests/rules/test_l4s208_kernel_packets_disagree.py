"""Kernel counters against the wire."""

import pytest

from l4strace.rules.l4s208_kernel_packets_disagree import check
from tests.support.frames import evidence, frame, rounds, stack
from tests.support.scenes import FLOWS, log


def scene(lo: int = 190, hi: int = 205, **columns: object):
    fed = {"ce_fed_back_lo": lo, "ce_fed_back_hi": hi, "ce_fed_back_best": lo}
    directions = stack(
        frame("directions", flow=0, data_ect1=1000, **fed),
        frame("directions", flow=1, data_ect0=1000),
    )
    return evidence(flows=FLOWS, directions=directions, rounds=rounds(200), kernel=log(**columns))


@pytest.mark.parametrize("bounds", [(300, 310), (10, 100)])
def test_fires_when_the_marks_lie_outside_the_bounds(bounds: tuple[int, int]) -> None:
    (found,) = check(scene(*bounds))
    assert [m.value for m in found.measures] == [199]


def test_fires_when_the_windows_differ() -> None:
    (found,) = check(scene(snd_cwnd=80))
    assert [m.value for m in found.measures] == [0.5]


def test_silent_when_they_agree_or_the_samples_are_elsewhere() -> None:
    assert check(scene()) == []
    assert check(scene(snd_cwnd=80, ts_ns=list(range(200)), delivered_ce=199)) == []
