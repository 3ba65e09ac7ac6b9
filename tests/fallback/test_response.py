"""The floor in three or four rounds."""

import polars as pl
import pytest

from l4strace.fallback.response import few_at_the_floor, references
from tests.support.scenes import laws

# Simulated run s8105-102: three reductions of 30 % at alpha/2 of 3 %, with the scaling bug.
SEEN = {"samples": 3, "misfit": 0.17, "ll_floor": -0.5, "ll_half_alpha": -18.0, "ll_half": -17.98}
FLOORS = {"ll_none": -18.0, "ll_floor_fixed": -18.0, "ll_floor_buggy": -0.5}
LEADS = SEEN | FLOORS | {"ll_floor_always": -0.5}


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        ({}, True),
        ({"samples": 2}, False),
        ({"samples": 5}, False),
        ({"misfit": 1.6}, False),
        ({"ll_half": -12.4}, False),
        ({"ll_floor": None}, False),
    ],
)
def test_only_a_long_lead_over_all_other_laws_counts(
    columns: dict[str, object], shown: bool
) -> None:
    table = laws(None, **(LEADS | columns))
    assert table.select(few_at_the_floor()).item() is shown
    assert table.with_columns(law=pl.lit("floor")).select(few_at_the_floor()).item() is False


def test_the_score_that_the_floor_follows() -> None:
    assert laws(None, **LEADS).select(references()).item() == "wrong"
    right = LEADS | {"ll_floor_fixed": -0.5}
    assert laws(None, **right).select(references()).item() == "correct"
