"""Classic reductions in the log of a sender with ECT(1)."""

import pytest

from l4strace.rules.support import logged_classic
from tests.support.sender_logs import marks, saw, scene, whole


@pytest.mark.parametrize(("fraction", "ect1", "fires"), [(0.3, 900, 1), (0.3, 1, 0), (0.1, 900, 0)])
def test_a_classic_reduction_under_ect1_is_named(fraction: float, ect1: int, fires: int) -> None:
    logs = scene(saw(30, fraction), marks(30), ect1=ect1)
    assert len(logged_classic.findings(logs, "")) == fires


@pytest.mark.parametrize(("depth", "fires"), [(0.5, 1), (0.1, 0), (0.2, 0)])
def test_whole_packets_count_as_the_least_that_they_show(depth: float, fires: int) -> None:
    """UDP Prague's log: from 20 packets to 16 may be a sixth, which alpha/2 and the floor share."""
    logs = whole(saw(20, depth), marks(20))
    assert len(logged_classic.findings(logs, "")) == fires
