"""Sums and quantiles of the charts against the polars expressions that they replace."""

from __future__ import annotations

import random

import polars as pl
import pytest

from l4strace.core import _native
from l4strace.page.drawing import smooth
from l4strace.page.sections.traffic.link import COUNTED
from l4strace.schema import TABLES
from l4strace.schema.keys import KEY


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


ECHO = (pl.col("ece_acks") > 0).fill_null(value=False)
MARKS = pl.coalesce(
    pl.col("ce_best").cast(pl.Int64), (pl.col("ece_acks") > 0).cast(pl.Int64), pl.col("ce"), 0
)


def _rounds(seed: int) -> pl.DataFrame:
    """Rounds of some directions in any order, with classic ECE, AccECN or what was seen here."""
    source = random.Random(seed)
    rows = [
        {
            "source": source.randrange(2),
            "flow": source.randrange(3),
            "forward": source.random() < 0.5,
            "start_ns": 1_790_000_000_000_000_000 + number * 30_000_000,
            "end_ns": 1_790_000_000_000_000_000 + (number + source.choice([1, 3])) * 30_000_000,
            "acked_packets": source.randrange(9),
            "acked_bytes": source.randrange(1 << 40),
            "retransmits": source.choice([None, 0, 2]),
            "ce_best": source.choice([None, None, 0, 4]),
            "ece_acks": source.choice([None, 0, 5]),
            "ce": source.choice([0, 1]),
        }
        for number in range(source.choice([0, 1, 200]))
    ]
    source.shuffle(rows)
    return TABLES["rounds"].conform(pl.DataFrame(rows)) if rows else TABLES["rounds"].empty()


@pytest.mark.parametrize("seed", range(20))
def test_totals_of_directions_are_those_of_polars(seed: int) -> None:
    rounds = _rounds(seed).select(*KEY, "start_ns", *COUNTED)
    inside = (ECHO & pl.col("ce_best").is_null()).sort_by("start_ns")
    expected = rounds.group_by(KEY).agg(
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
        pl.col("acked_packets", "acked_bytes", "retransmits").sum(),
        marks=MARKS.sum(),
        begins=(inside & ~inside.shift(fill_value=False)).sum(),
    )
    found = pl.DataFrame(_native.totals(rounds.rechunk()))
    assert found.rows() == expected.sort(KEY).rows()


@pytest.mark.parametrize("seed", range(20))
def test_intervals_of_a_path_are_those_of_polars(seed: int) -> None:
    origin_ns, interval = 1_790_000_000_000_000_000, random.Random(seed).choice([0.03, 0.1, 7 / 3])
    rounds = _rounds(seed).with_columns(own=pl.col("flow") > 0)
    own = rounds.filter("own").with_columns(MARKS.alias("marks"))
    ended = own.select((pl.col("end_ns") - origin_ns) / 1e9)["end_ns"]
    counted = ("acked_bytes", "acked_packets", "marks", "retransmits")
    middles, expected = smooth.sums(own, ended, interval, *counted)
    first, found = _native.path_slots(rounds.select(*COUNTED, "own").rechunk(), origin_ns, interval)
    assert (smooth.middles(first, len(found[0]), interval), found) == (middles, expected)
