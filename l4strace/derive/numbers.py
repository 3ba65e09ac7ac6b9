"""One number in place of the columns that identify a direction or a path.

Rounds are many, directions and paths are few: what is known of a direction or path is looked up by
its row instead of joined.
"""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.derive import neighbors
from l4strace.evidence import Capture, kept
from l4strace.schema.keys import KEY, PATH


@kept
def directions(capture: Capture) -> pl.Series:
    """For each row of `rounds`: its direction's row in `neighbors.directions`, null if absent."""
    known = neighbors.directions(capture).select(KEY).rechunk()
    found = _native.Measured.numbered(capture.rounds.select(KEY).rechunk(), known)
    return pl.DataFrame(found)["direction"]


@kept
def paths(capture: Capture) -> pl.Series:
    """For each row of `neighbors.directions`: the number of its path in the order of `PATH`."""
    return placed(capture, neighbors.directions(capture))


def placed(capture: Capture, directions: pl.DataFrame) -> pl.Series:
    """For each row of ``directions``, which have `PATH`: the number of its path."""
    of = directions.lazy().select(PATH)
    found = of.join(named(capture).lazy(), on=PATH, how="left", maintain_order="left")
    return found.select("at").collect()["at"]


@kept
def named(capture: Capture) -> pl.DataFrame:
    """`PATH` of each number (`at`) of `paths`."""
    tables = (neighbors.directions(capture), neighbors.datagrams(capture))
    known = pl.concat([table.lazy().select(PATH) for table in tables]).unique().sort(PATH)
    return known.with_row_index("at").collect()


def looked_up(capture: Capture, table: pl.DataFrame, column: str) -> pl.Series:
    """``column`` of each round's direction; ``table`` has rows for some directions, by `KEY`."""
    of = neighbors.directions(capture).lazy().select(KEY)
    known = table.lazy().select(*KEY, column)
    row = of.join(known, on=KEY, how="left", maintain_order="left").select(column)
    return row.collect()[column][directions(capture)]
