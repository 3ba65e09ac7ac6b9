"""How many data packets of a direction were marked CE, and their share: of packets on the wire.

A capture with offloads holds super-packets, and feedback counts the packets of the wire.
"""

from __future__ import annotations

import polars as pl


def packets() -> pl.Expr:
    """Marked packets of a row of `directions`: as fed back or as captured, whichever is more.

    Feedback also counts the handshake: 824 of 822 would be absurd.
    """
    fed_back, seen = pl.col("ce_fed_back_best").fill_null(0), pl.col("ce_segments").fill_null(0)
    return pl.min_horizontal(pl.max_horizontal(fed_back, seen), "data_segments")


def share() -> pl.Expr:
    """Part of the data packets on the wire; null without data."""
    return pl.when(pl.col("data_segments") > 0).then(packets() / pl.col("data_segments"))
