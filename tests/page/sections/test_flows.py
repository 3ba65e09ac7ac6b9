"""The table of flows."""

from __future__ import annotations

import polars as pl

from l4strace.page.sections import flows


def test_of_several_rows_of_a_direction_the_first_counts() -> None:
    """The capture nearest to the sender comes first."""
    table = pl.DataFrame({"flow": [1, 1, 2, 3], "kind": ["l4s", "classic", "fifo", "per-flow"]})
    rows = flows._by(table, pl.DataFrame({"flow": [1, 2]}), "flow")
    assert {flow: row["kind"] for flow, row in rows.items()} == {1: "l4s", 2: "fifo"}
