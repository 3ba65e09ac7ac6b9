"""What a table declaration is made of."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import polars as pl

UNIX_NS = "ns since 1970"
"""Unit of a moment; an integer in `ns` is a duration or an offset."""
NOT_AT_RECEIVER = "Null at the receiver of the direction, which does not see it."
AT_LEAST = "A lower bound unless the capture stands at the sender of the direction."


class Column(NamedTuple):
    """One column: ``unit`` is empty where the values have none.

    ``vantage`` is empty, or states what its values are where the capture does not stand at the
    sender: NOT_AT_RECEIVER or AT_LEAST.
    """

    name: str
    dtype: pl.DataType
    unit: str
    sentence: str
    vantage: str = ""

    @property
    def doc(self) -> str:
        """What the values are, and where they are known."""
        return f"{self.sentence} {self.vantage}".rstrip()


@dataclass(frozen=True)
class Table:
    """One table: ``doc`` states what one row is, ``key`` which columns identify it."""

    name: str
    doc: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @cached_property
    def schema(self) -> pl.Schema:
        """The polars schema, in declared order."""
        return pl.Schema({column.name: column.dtype for column in self.columns})

    def empty(self) -> pl.DataFrame:
        """The table without rows: what a stage returns when it has nothing to report."""
        return self._empty.clone()

    @cached_property
    def _empty(self) -> pl.DataFrame:
        return pl.DataFrame(schema=self.schema)

    def conform(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The declared columns of ``frame``, cast and in order; missing ones become null.

        Columns that are not declared are dropped. Raises polars' own errors when a value does not
        fit the declared dtype: a stage that returns the wrong thing is a bug, not bad input.
        """
        have = frame.schema
        if have == self.schema:
            return frame
        return frame.select(
            pl.lit(None, dtype=c.dtype).alias(c.name)
            if c.name not in have
            else pl.col(c.name)
            if have[c.name] == c.dtype
            else pl.col(c.name).cast(c.dtype)
            for c in self.columns
        )
