"""Cells of csv: inert, and the same text when they are read back."""

import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l4strace.wording.spreadsheet import guarded, read_back


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "'=1", "''@x"])
def test_no_formula_is_left(text: str):
    written = pl.DataFrame({"x": [text]}).select(guarded(pl.col("x"))).item()
    assert written == f"'{text}"


@given(st.text(alphabet="=+-@'ax,\" ", min_size=1, max_size=9))
def test_reading_gives_the_same_text(text: str):
    frame = pl.DataFrame({"x": [text, "a"]})
    written = frame.with_columns(guarded(pl.col("x"))).write_csv()
    read = pl.read_csv(io.StringIO(written), infer_schema=False)
    assert read.with_columns(read_back(pl.col("x")))["x"][0] == text
    assert not read["x"][0].startswith(("=", "+", "-", "@"))
