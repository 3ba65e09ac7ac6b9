"""Thinning keeps what a reader would miss."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from l4strace.report.series import prepare
from l4strace.report.thin import thin


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=2000), st.integers(4, 300))
def test_peaks_and_ends_stay(values: list[float], points: int) -> None:
    frame = pl.DataFrame({"x": range(len(values)), "y": values})
    kept = thin(frame, "y", points)
    assert kept.height <= max(points, 4)
    assert kept["y"].min() == min(values)
    assert kept["y"].max() == max(values)
    assert (kept["x"][0], kept["x"][-1]) == (0, len(values) - 1)
    assert kept["x"].is_sorted()


def test_a_pause_breaks_the_line() -> None:
    times = [n / 100 for n in range(50)] + [5 + n / 100 for n in range(50)]
    data = prepare(pl.DataFrame({"x": times, "y": [1.0] * 100}), "y", 4000)
    assert data["y"].null_count() == 1


def test_a_single_null_does_not() -> None:
    values = [1.0, None, 2.0, None, 3.0] * 10
    data = prepare(pl.DataFrame({"x": range(50), "y": values}), "y", 4000)
    assert data["y"].null_count() == 0
    assert data.height == 30
