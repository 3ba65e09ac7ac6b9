"""Rates over intervals."""

from __future__ import annotations

import polars as pl

from l4strace.page.drawing.smooth import INTERVAL_ROUNDS, SHORTEST_S, interval_of, per_interval

MILLISECOND_NS = 1_000_000


def rounds(lengths_ms: list[int], acked_bytes: list[int]) -> pl.DataFrame:
    lengths = pl.Series(lengths_ms, dtype=pl.Int64) * MILLISECOND_NS
    ends = lengths.cum_sum()
    return pl.DataFrame(
        {
            "x": (ends - lengths) / 1e9,
            "start_ns": ends - lengths,
            "end_ns": ends,
            "acked_bytes": pl.Series(acked_bytes, dtype=pl.Int64),
            "retransmits": [0] * len(lengths),
        }
    )


def test_few_long_rounds_with_most_bytes_make_no_comb() -> None:
    """A queue of 70 ms for a second behind three seconds without one, at one rate."""
    table = rounds([10] * 100 + [80] * 25, [10_000] * 100 + [80_000] * 25)
    interval = interval_of(table, 3.0)
    assert interval == INTERVAL_ROUNDS * 0.08
    rates = per_interval(table, interval).goodput_bps[:-1]
    assert max(rates) <= 1.25 * min(rates)


def test_a_pause_makes_no_interval_longer() -> None:
    table = rounds([10] * 100 + [5000], [10_000] * 101)
    assert interval_of(table, 6.0) == INTERVAL_ROUNDS * 0.01


def test_rounds_without_a_byte_need_no_interval_of_their_own() -> None:
    assert interval_of(rounds([], []), 1.0) == SHORTEST_S
