"""Several steps as one query."""

import polars as pl

from l4strace.derive import chain


def test_steps_make_what_they_make_one_by_one() -> None:
    rows = pl.DataFrame({"of": [0, 0, 1], "marks": [1, 2, 3]})
    more = pl.DataFrame({"of": [0, 2], "base_us": [7.0, 9.0]})
    query = rows.lazy().group_by("of", maintain_order=True).agg(pl.col("marks").sum())
    query = query.join(more.lazy(), on="of", how="left", maintain_order="left").filter(marks=3)
    assert chain.collect(query).rows() == [(0, 3, 7.0), (1, 3, None)]


def test_polars_still_has_what_makes_it_quick() -> None:
    """Without, a chain takes longer than its steps: see the module."""
    assert chain._PLAIN
