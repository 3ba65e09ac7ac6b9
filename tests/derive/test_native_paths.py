"""What the native core finds in rounds of paths is what polars expressions find."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from l4strace.core import _native
from tests.support import delays_in_polars
from tests.support.frames import MS, frame

FLOWS = 9
SEEDS = range(12)
WHICH = ("min", "mean", "max")


@pytest.mark.parametrize("seed", SEEDS)
def test_spreads(seed: int) -> None:
    made = measured(random.Random(seed))
    found = pl.DataFrame(_native.path_noise(made.rechunk()))
    same(found, spreads(made).select(found.columns))


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


def measured(chance: random.Random) -> pl.DataFrame:
    """Rounds of a few directions as `noise` looks at them."""
    count = 300
    made = frame(
        "rounds",
        start_ns=[n * 10 * MS for n in range(count)],
        end_ns=[n * 10 * MS + chance.randrange(10 * MS) for n in range(count)],
        rtt_samples=some(chance, [None, 0, 1, 2, 9, 20], count),
        retransmits=some(chance, [None, 0, 0, 0, 3], count),
        acked_packets=some(chance, [None, 1, 20, 40], count),
        rtt_min_us=maybe(chance, 10_000, 11_000, count),
        # In some rounds all RTTs are the same.
        rtt_max_us=[us and max(us, 10_500.0) for us in maybe(chance, 10_000, 12_000, count)],
        rtt_jitter_us=[us and max(us, 0.0) for us in maybe(chance, -100, 300, count)],
        train_bps=maybe(chance, 1e6, 1e8, count),
        owd_min_us=maybe(chance, 5_000, 5_500, count),
        owd_max_us=maybe(chance, 5_500, 6_000, count),
    )
    return made.with_columns(of=pl.Series(sorted(some(chance, [0, 1, 5], count)), dtype=pl.UInt32))


def spreads(rounds: pl.DataFrame) -> pl.DataFrame:
    """As `_native.path_noise`, in polars expressions."""
    full = pl.col("rtt_samples") >= 8
    rtt, owd = (pl.col(f"{of}_max_us") - pl.col(f"{of}_min_us") for of in ("rtt", "owd"))
    quiet = full & (rtt <= rtt.filter(full).quantile(0.25))
    shown = (pl.col("rtt_samples") >= 2) & (pl.col("retransmits").fill_null(0) == 0)
    length_us = (pl.col("end_ns") - pl.col("start_ns")) / 1000
    return rounds.group_by("of", maintain_order=True).agg(
        pl.len().alias("rounds"),
        rtt.filter(full).quantile(0.25).alias("rtt_quiet"),
        owd.filter(full).quantile(0.25).alias("owd_quiet"),
        rtt.filter(full).count().alias("rtt_full"),
        owd.filter(full).count().alias("owd_full"),
        (pl.col("rtt_jitter_us") / rtt).filter(quiet).median().alias("jumps"),
        shown.sum().alias("answered"),
        (pl.col("acked_packets") / pl.col("rtt_samples")).filter(shown).median().alias("stretch"),
        (length_us / pl.col("rtt_samples")).filter(shown).median().alias("period_us"),
        rtt.filter(shown).median().alias("answers_us"),
        rtt.filter(full).median().alias("usual_us"),
        pl.col("rtt_jitter_us", "rtt_min_us", "train_bps").median(),
    )


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
