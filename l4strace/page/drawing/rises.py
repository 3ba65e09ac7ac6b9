"""Numbers that rise, as the packet chart reads them: small, so that a page packs and opens fast."""

from __future__ import annotations

import polars as pl

RISING = ("t", "frame", "seq", "ack", "window")
"""Columns that rise, or stay near what they were, from packet to packet of a direction."""


def of_direction(table: pl.DataFrame) -> pl.DataFrame:
    """Columns of RISING as steps from the number before in the same direction (`out`), from 0."""
    return table.with_columns(
        pl.col(name) - pl.col(name).forward_fill().shift(1, fill_value=0).over("out").fill_null(0)
        for name in RISING
        if name in table.columns
    )
