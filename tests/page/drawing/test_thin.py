"""Thinning keeps what a reader would miss."""

from __future__ import annotations

import math
from array import array
from base64 import b64decode

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from l4strace.page.drawing.palette import MEASURED
from l4strace.page.drawing.series import line, points_of
from l4strace.page.drawing.thin import thin


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=2000), st.integers(4, 300))
def test_peaks_and_ends_stay(values: list[float], points: int) -> None:
    kept = thin(values, points)
    seen = [values[index] for index in kept]
    assert len(kept) <= points
    assert (min(seen), max(seen)) == (min(values), max(values))
    assert (kept[0], kept[-1]) == (0, len(values) - 1)
    assert list(kept) == sorted(set(kept))


def test_a_pause_breaks_the_line() -> None:
    times = [n / 100 for n in range(50)] + [5 + n / 100 for n in range(50)]
    assert breaks(pl.DataFrame({"x": times, "y": [1.0] * 100})) == 1


def test_a_single_null_does_not() -> None:
    values = [1.0, None, 2.0, None, 3.0] * 10
    frame = pl.DataFrame({"x": range(50), "y": values})
    assert breaks(frame) == 0
    assert len(points_of(frame, "y", 4000)) == 30


def breaks(frame: pl.DataFrame) -> int:
    """NaN values of the line through ``frame``."""
    packed = line(points_of(frame, "y", 4000), "y", MEASURED)["y"]["bdata"]
    return sum(math.isnan(value) for value in array("f", b64decode(packed)))
