"""Packets out of order."""

import pytest

from l4strace.rules.l4s407_reordering import check
from tests.support.frames import evidence
from tests.support.scenes import DIRECTIONS, FLOWS, path_noise


def scene(**columns: object):
    return evidence(flows=FLOWS, directions=DIRECTIONS, noise=path_noise(**columns))


def test_fires_for_each_direction_with_late_packets() -> None:
    found, _ = check(scene(late_packets=[300, 20], late_share=[0.146, 0.01]))
    assert "300 data packets (14.6 %) arrived behind later ones" in found.message


@pytest.mark.parametrize(("packets", "share"), [(9, 0.01), (100, 0.0005), (0, 0.0)])
def test_silent_on_few(packets: int, share: float) -> None:
    assert check(scene(late_packets=packets, late_share=share)) == []
