"""Reductions in the log of a sender with ECT(1): classic ones, and those by alpha/2."""

import pytest

from l4strace.rules.support import logged_reductions
from tests.support.sender_logs import marks, saw, scene, whole


@pytest.mark.parametrize(("fraction", "ect1", "fires"), [(0.3, 900, 1), (0.3, 1, 0), (0.1, 900, 0)])
def test_a_classic_reduction_under_ect1_is_named(fraction: float, ect1: int, fires: int) -> None:
    logs = scene(saw(30, fraction), marks(30), ect1=ect1)
    assert len(logged_reductions.findings(logs, "")) == fires


@pytest.mark.parametrize(("depth", "fires"), [(0.5, 1), (0.1, 0), (0.2, 0)])
def test_whole_packets_count_as_the_least_that_they_show(depth: float, fires: int) -> None:
    """UDP Prague's log: from 20 packets to 16 may be a sixth, which alpha/2 and the floor share."""
    logs = whole(saw(20, depth), marks(20))
    assert len(logged_reductions.findings(logs, "")) == fires


@pytest.mark.parametrize(
    ("fraction", "ect1", "expected"),
    [(0.06, 900, 1), (0.06, 1, 0), (0.1, 900, 0), (0.03, 900, 0)],
    ids=["alpha/2", "not ECT(1)", "deeper", "next to nothing"],
)
def test_reductions_by_alpha_2_are_a_scalable_response(
    fraction: float, ect1: int, expected: int
) -> None:
    """All packets of each tenth sample are marked: alpha/2 is 7.8 % at most."""
    logs = scene(saw(30, fraction), [20 * ce for ce in marks(30)], ect1=ect1)
    rows = logged_reductions.by_half_alpha(logs)
    assert rows.height == expected
    assert not (expected and logged_reductions.findings(logs, ""))


def test_few_reductions_show_nothing() -> None:
    assert logged_reductions.by_half_alpha(
        scene(saw(4, 0.06), [20 * ce for ce in marks(4)])
    ).is_empty()
