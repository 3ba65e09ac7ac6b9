"""Datagrams of a log beside those of a capture: the right offset, or none."""

from __future__ import annotations

import random

import polars as pl
import pytest

from l4strace.ingest.join import alignment

OFFSET_NS = 1_700_000_000_000_000_000


def sent(
    count: int, seed: int, sizes: tuple[int, ...] = (1440,), mean_us: int = 700
) -> pl.DataFrame:
    chance = random.Random(seed)
    at, rows = 0, []
    for _ in range(count):
        at += round(chance.expovariate(1 / mean_us) * 1000) + 20_000
        rows.append((at, chance.choice(sizes)))
    return pl.DataFrame(rows, {"ts_ns": pl.Int64, "bytes": pl.UInt32}, orient="row")


def captured(
    log: pl.DataFrame, seed: int, jitter_ns: int = 10_000, lost: float = 0.0
) -> pl.DataFrame:
    chance = random.Random(seed)
    late = [OFFSET_NS + round(chance.random() * jitter_ns) for _ in range(log.height)]
    kept = [chance.random() >= lost for _ in range(log.height)]
    return (
        log.with_columns(pl.col("ts_ns") + pl.Series(late, dtype=pl.Int64))
        .filter(pl.Series(kept, dtype=pl.Boolean))
        .sort("ts_ns")
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sizes", [(1440,), (1440, 300, 55)])
def test_the_offset_of_the_same_host_within_jitter(seed: int, sizes: tuple[int, ...]) -> None:
    log = sent(3000, seed, sizes)
    offset = alignment.found(log, captured(log, seed + 100))
    assert offset is not None
    assert 0 <= offset.offset_ns - OFFSET_NS <= 10_000
    assert offset.matched == 3000
    assert offset.residual_ns < 5_000


def test_the_offset_behind_a_queue_that_loses_packets() -> None:
    log = sent(4000, 1)
    offset = alignment.found(log, captured(log, 2, jitter_ns=150_000, lost=0.02))
    assert offset is not None
    assert 0 <= offset.offset_ns - OFFSET_NS <= 150_000


def test_a_log_that_ends_early_or_lacks_sizes() -> None:
    log = sent(3000, 3)
    seen = captured(log, 4)
    times = log.head(400).with_columns(bytes=pl.lit(None, pl.UInt32))
    offset = alignment.found(times, seen)
    assert offset is not None
    assert 0 <= offset.offset_ns - OFFSET_NS <= 10_000


@pytest.mark.parametrize("seed", range(10))
def test_other_traffic_fits_nowhere(seed: int) -> None:
    assert alignment.found(sent(3000, seed), captured(sent(3000, seed + 50), seed)) is None


def test_regular_traffic_fits_everywhere_and_so_nowhere() -> None:
    even = pl.DataFrame({"ts_ns": range(0, 10**10, 10**7), "bytes": [200] * 1000})
    even = even.cast({"ts_ns": pl.Int64, "bytes": pl.UInt32})
    assert alignment.found(even, captured(even, 1)) is None


def test_a_program_that_only_begins_alike_is_another_one() -> None:
    log = sent(3000, 9)
    other = log.with_columns(
        pl.when(pl.int_range(pl.len()) < 400).then("ts_ns").otherwise(pl.col("ts_ns") * 3)
    )
    assert alignment.found(log, captured(other, 1)) is None


@pytest.mark.parametrize("rows", [0, 1, 19])
def test_too_little_is_no_offset(rows: int) -> None:
    log = sent(rows, 5)
    assert alignment.found(log, captured(sent(3000, 5), 6)) is None
    assert alignment.found(sent(3000, 5), captured(log, 6)) is None


def test_beginnings_of_one_conversation_need_equal_sizes() -> None:
    log = sent(10, 7, (1252, 440, 55))
    seen = captured(log, 8, jitter_ns=1)
    offset = alignment.of_beginnings(log, seen)
    assert offset is not None
    assert offset[:2] == (OFFSET_NS, alignment.FIRST)
    assert alignment.of_beginnings(log, seen.with_columns(bytes=pl.lit(9, pl.UInt32))) is None
    assert alignment.of_beginnings(log.head(2), seen.head(2)) is None
    times = log.with_columns(bytes=pl.lit(None, pl.UInt32))
    assert alignment.of_beginnings(times, times) is None
