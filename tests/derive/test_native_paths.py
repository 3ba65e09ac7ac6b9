"""What the native core finds in rounds of paths is what polars expressions find."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from l4strace.core import _native
from tests.support import delays_in_polars
from tests.support.frames import frame

FLOWS = 9
SEEDS = range(12)
WHICH = ("min", "mean", "max")


@pytest.mark.parametrize("seed", SEEDS)
def test_delays(seed: int) -> None:
    made = delayed(random.Random(seed))
    found = pl.DataFrame(_native.path_delays(made.rechunk()))
    expected = delays_in_polars.delays(made)
    assert expected["delay_us"].n_unique() > made.height / 3
    assert set(expected["one_way"]) == {True, False}
    same(found, expected)


def same(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    assert_frame_equal(found, expected, check_dtypes=False, rel_tol=1e-9, abs_tol=1e-9)


def some(chance: random.Random, values: list[Any], count: int = FLOWS) -> list[Any]:
    return [chance.choice(values) for _ in range(count)]


def maybe(chance: random.Random, low: float, high: float, count: int) -> list[float | None]:
    """Numbers, a tenth of which are not present."""
    return [chance.uniform(low, high) if chance.random() < 0.9 else None for _ in range(count)]


def delayed(chance: random.Random) -> pl.DataFrame:
    """Rounds of a few directions with RTTs and one-way delays that are near their base or high."""
    count = 600

    def delays(least: float) -> list[list[float | None]]:
        """Smallest, mean and largest of each round; at times all are the same."""
        found = []
        for _ in range(count):
            low = chance.choice((least, least + 10_000.0)) + chance.uniform(0, 500)
            high = low + chance.choice((0.0, 300.0, 9_000.0, 60_000.0))
            mean = chance.choice((low, (low + high) / 2, (3 * low + high) / 4, high))
            found.append([low, mean, high] if chance.random() < 0.9 else [None] * 3)
        return [list(column) for column in zip(*found, strict=True)]

    rtts, owds = delays(10_000.0), delays(100.0)
    samples = some(chance, [None, 1, 2, 3, 4, 30], count)
    # One sample alone is the largest of all.
    prompt = [
        high and chance.choice((None, high, high if number == 1 else 0.7 * high))
        for high, number in zip(rtts[2], samples, strict=True)
    ]
    sacked = [chance.choice((None, None, None, 12e3, 30e3, 80e3)) for _ in range(count)]
    made = frame(
        "rounds",
        rtt_samples=samples,
        sent_packets=some(chance, [None, 0, 1, 2, 3, 4, 30], count),
        acked_packets=some(chance, [None, 0, 1, 2, 30], count),
        retransmits=some(chance, [None, 0, 0, 0, 2], count),
        rtt_prompt_max_us=prompt,
        sacked_rtt_max_us=sacked,
        sacked_rtt_min_us=[us and 0.8 * us for us in sacked],
        **{f"rtt_{of}_us": column for of, column in zip(WHICH, rtts, strict=True)},
        **{f"owd_{of}_us": column for of, column in zip(WHICH, owds, strict=True)},
    )
    of = sorted(some(chance, [0, 1, 5, 6], count))
    one = pl.Series(of, dtype=pl.UInt32)
    floor = {0: 10_000.0, 1: 9_000.0, 5: 20_000.0, 6: None}
    return made.with_columns(
        of=one,
        flow=one,
        base_us=pl.Series([floor[number] for number in of], dtype=pl.Float64),
        owd_base_us=pl.lit(50.0),
        overtakes=one == 1,
        merged=one >= 5,
    )
