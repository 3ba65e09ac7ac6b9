"""Traces of columns."""

from __future__ import annotations

import polars as pl

from l4strace.page.drawing.palette import MEASURED
from l4strace.page.drawing.series import band, thinned


def area(low: list[float | None], high: list[float | None], most: int = 100) -> int:
    """Traces of a range over as many points."""
    frame = pl.DataFrame(
        {"x": [float(n) for n in range(len(low))], "low": low, "high": high},
        schema={"x": pl.Float64, "low": pl.Float64, "high": pl.Float64},
    )
    return len(band(frame, "low", "high", "range", MEASURED, most, 1.0))


def test_a_range_is_drawn_where_it_has_width_and_length() -> None:
    assert area([1, 2, 3], [1, 3, 3]) == 2
    assert area([1, 2, 3], [1, 2, 3]) == 0
    assert area([1, None, 3], [1, 2, 3]) == 0
    assert area([1, None], [2, 2]) == 0
    assert area([], []) == 0


def test_rows_without_a_value_are_left_out_however_many_there_are() -> None:
    """Short series are lists of Python, long ones are thinned in Rust."""
    for count in (3, 40):
        ys = [None, *(float(n) for n in range(1, count))]
        frame = pl.DataFrame({"x": range(count), "y": ys})
        xs, kept = thinned(frame, ("x", "y"), 20)
        assert xs == kept
        assert kept[0] == 1
        assert max(kept) == count - 1
        assert len(kept) <= 20
