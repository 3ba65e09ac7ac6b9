"""Rounds as the native core looks at them."""

import polars as pl
import pytest

from l4strace.derive import phases
from tests.support.frames import capture
from tests.support.queues import dropped


@pytest.mark.parametrize("order", [-pl.col("round").cast(pl.Int64), pl.col("round") % 7])
def test_rounds_may_stand_in_any_order(order: pl.Expr) -> None:
    run = dropped()
    mixed = run.rounds.sort(order)
    assert not mixed["round"].is_sorted()
    made = capture(flows=run.flows, directions=run.directions, rounds=mixed)
    assert phases.table(made).equals(phases.table(run))
