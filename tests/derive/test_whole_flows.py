"""Marks and waits of whole directions, their start included."""

from __future__ import annotations

import polars as pl
import pytest

from l4strace.derive import queue_features
from tests.support.frames import capture, stack
from tests.support.queues import CUBIC, FLOWS, PRAGUE, marked_above, of, sawtooth


def test_the_largest_marked_share_is_that_of_one_ect0_flow() -> None:
    """Lab run s1601-005: CUBIC with a packet a round trip beside BBR with hundreds."""
    large = of([6_000.0] * 80, ece_acks=1, ce_best=None, acked_packets=280)
    small = of([6_000.0] * 80, flow=1, ece_acks=1, ce_best=None, acked_packets=4)
    once = [int(i < 9) for i in range(30)]
    few = of([6_000.0] * 30, flow=2, ece_acks=once, ce_best=None, acked_packets=1)
    directions = stack(*(CUBIC.with_columns(flow=pl.lit(n, pl.UInt32)) for n in range(3)))
    found = queue_features.features(
        capture(flows=FLOWS, directions=directions, rounds=stack(large, small, few))
    )
    assert found["ect0_most"].unique().to_list() == pytest.approx([0.25])


def test_the_largest_marked_share_takes_ten_marks() -> None:
    """Nine marks of a packet a round trip are the start of a flow."""
    for marks, share in ((9, None), (10, 10 / 120)):
        once = [int(i < marks) for i in range(30)]
        few = of([6_000.0] * 30, flow=1, ece_acks=once, ce_best=None, acked_packets=4)
        near = of(sawtooth(200, 1_100), ce_best=0)
        tables = {"directions": stack(PRAGUE, CUBIC), "rounds": stack(near, few)}
        found = queue_features.features(capture(flows=FLOWS, **tables))
        assert found["ect0_most"][0] == (share and pytest.approx(share))


@pytest.mark.parametrize(("first", "unmarked"), [(20_000.0, 0), (0.0, 39)])
def test_what_a_flow_always_waits_may_be_its_longer_path(first: float, unmarked: int) -> None:
    """Lab run s1701-154: 19 ms more of path are no queue that DualPI2 left without a mark."""
    near = sawtooth(200, 1_100)
    far = [29_000.0 + wait for wait in near[:40]]
    least = [10_000.0 + first, *(10_000.0 + wait for wait in far[1:])]
    made = (
        of(near, ce_best=marked_above(near, 900)),
        of(far, flow=1, ce_best=0, rtt_min_us=least),
    )
    directions = stack(PRAGUE, PRAGUE.with_columns(flow=pl.lit(1, pl.UInt32)))
    found = queue_features.features(
        capture(flows=FLOWS, directions=directions, rounds=stack(*made))
    )
    assert found["far_unmarked"].to_list() == [unmarked, unmarked]
