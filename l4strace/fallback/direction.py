"""Rows of a table as typed values, by flow direction."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import polars as pl

from l4strace.schema.keys import DIRECTION

T = TypeVar("T", bound=NamedTuple)

Direction = tuple[int, bool]
"""`flow` and `forward`."""


def typed(table: pl.DataFrame, make: type[T]) -> dict[Direction, T]:
    """One value of the record ``make`` a direction, from the columns that bear its fields."""
    rows = table.select(*DIRECTION, *make._fields).iter_rows()
    return {(flow, forward): make(*values) for flow, forward, *values in rows}
