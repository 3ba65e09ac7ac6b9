"""Rows of a table as typed values, by flow direction."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from l4strace.schema.keys import DIRECTION

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    T = TypeVar("T", bound=DataclassInstance)

Direction = tuple[int, bool]
"""`flow` and `forward`."""


def typed(table: pl.DataFrame, make: type[T]) -> dict[Direction, T]:
    """One value of the dataclass ``make`` a direction, from the columns that bear its fields."""
    names = [field.name for field in fields(make)]
    rows = table.select(*DIRECTION, *names).iter_rows()
    return {(flow, forward): make(*values) for flow, forward, *values in rows}
