"""Packets out of order."""

import polars as pl
import pytest

from l4strace.rules.l4s407_reordering import check
from tests.support.frames import evidence
from tests.support.scenes import DIRECTIONS, FLOWS, path_noise, two_flows


def scene(**columns: object):
    return two_flows(noise=path_noise(**columns))


def test_fires_once_for_each_path() -> None:
    """Simulated run s8103-105: 31 findings for one path."""
    (found,) = check(scene(late_packets=[20, 300], late_share=[0.01, 0.146]))
    assert (found.flow, found.message) == (
        1,
        "The path reorders packets: at least 300 data packets (15 %) of flow 1 arrived behind "
        "later ones, and so did packets of 1 more flow.",
    )
    (alone,) = check(scene(late_packets=[300, 2], late_share=[0.146, 0.001]))
    assert "at least 300 data packets (15 %) arrived behind later ones." in alone.message
    assert len(check(scene(late_packets=300, late_share=0.1, path=["a>b", "b>a"]))) == 2


def test_fires_with_the_exact_number_of_a_capture_behind_the_reordering() -> None:
    """ACKs show some of the late packets only, a capture at the receiver all of them."""
    there = DIRECTIONS.with_columns(out_of_order=pl.lit(300, pl.UInt64))
    noise = path_noise(late_packets=[300, 2], late_share=[0.146, 0.001])
    (found,) = check(evidence(flows=FLOWS, directions=there, noise=noise))
    assert "packets: 300 data packets (15 %)" in found.message


@pytest.mark.parametrize(("packets", "share"), [(9, 0.01), (100, 0.0005), (0, 0.0)])
def test_silent_on_few(packets: int, share: float) -> None:
    assert check(scene(late_packets=packets, late_share=share)) == []
