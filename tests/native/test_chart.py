"""Sums and quantiles of the charts against the polars expressions that they replace."""

from __future__ import annotations

import random

import polars as pl
import pytest

from l4strace.core import _native


@pytest.mark.parametrize("seed", range(20))
def test_sums_per_interval_are_those_of_polars(seed: int) -> None:
    source = random.Random(seed)
    interval = source.choice([0.01, 0.1, 0.3, 7 / 3])
    # Some end on the edge of an interval: where polars puts them is where they count.
    ended = [source.choice([n * interval, source.random() * 90]) for n in range(200)]
    rows = pl.DataFrame(
        {
            "ended": ended,
            "acked_bytes": [source.randrange(1 << 40) for _ in ended],
            "marks": [source.choice([None, 0, 3]) for _ in ended],
        },
        schema={"ended": pl.Float64, "acked_bytes": pl.UInt64, "marks": pl.Int64},
    )
    slot = (pl.col("ended") / interval).floor().cast(pl.Int64).alias("slot")
    summed = rows.group_by(slot).agg(pl.col("acked_bytes", "marks").sum()).sort("slot")
    expected = {slot: (acked, marks) for slot, acked, marks in summed.rows()}
    first, (acked, marks) = _native.per_interval(rows, interval, ("acked_bytes", "marks"))
    last = first + len(acked) - 1
    assert (first, last) == (min(expected), max(expected))
    found = dict(zip(range(first, last + 1), zip(acked, marks, strict=True), strict=True))
    assert found == {slot: expected.get(slot, (0, 0)) for slot in found}


@pytest.mark.parametrize("seed", range(100))
def test_weighted_quantiles_are_those_of_polars(seed: int) -> None:
    source = random.Random(seed)
    count = source.choice([0, 1, 2, 10, 200])
    # With equal weights shares fall on the edges between values: they count where polars has them.
    weights = source.choice([[None, 0.0, 1.0, 7.0, 98.0], [1.0]])
    rows = pl.DataFrame(
        {
            "value": [source.choice([None, 0.0, source.random() * 1e5]) for _ in range(count)],
            "weight": [source.choice(weights) for _ in range(count)],
        },
        schema={"value": pl.Float64, "weight": pl.Float64},
    )
    shares = [n / 200 for n in range(1, 201)]
    value, weight = pl.col("value"), pl.col("weight")
    place = (weight.cum_sum() / weight.sum()).search_sorted(pl.lit(pl.Series(shares)), "left")
    ranked = rows.drop_nulls().filter(weight > 0).sort("value")
    expected = ranked.select(value.gather(place.clip(upper_bound=pl.len() - 1), null_on_oob=True))
    assert _native.quantiles(rows, shares) == expected["value"].drop_nulls().to_list()
