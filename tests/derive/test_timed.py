"""Quantiles over time."""

import polars as pl

from l4strace.derive import timed


def test_rounds_count_by_their_length() -> None:
    """Three rounds of 10 ms, one of 100 ms; what is not known takes no time."""
    rounds = pl.DataFrame(
        {
            "start_ns": [0, 10, 20, 30, 130],
            "end_ns": [10, 20, 30, 130, 999],
            "delay": [1.0, 3.0, 2.0, 50.0, None],
        }
    )
    shares = {share: rounds.select(timed.quantile("delay", share)).item() for share in (0.1, 0.2)}
    assert shares == {0.1: 2.0, 0.2: 3.0}
    assert rounds.select(timed.median("delay")).item() == 50.0
    assert rounds.filter(pl.col("delay").is_null()).select(timed.median("delay")).item() is None
