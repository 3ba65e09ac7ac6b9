"""Where a capture stood, seen from a direction's sender: the words of `flows.vantage`, ranked.

Here and not in `derive.vantage`, because the join of kernel logs needs the same ranking.
"""

from __future__ import annotations

import polars as pl

RANKS = ("sender", "middle", "unknown", "receiver")
"""Places of a capture, nearest to the sender first; a null counts as `unknown`."""


def sender() -> pl.Expr:
    """`client` or `server`: the end that sends in the direction ``forward`` of the row."""
    return pl.when("forward").then(pl.lit("client")).otherwise(pl.lit("server"))


def receiver() -> pl.Expr:
    """The other end."""
    return pl.when("forward").then(pl.lit("server")).otherwise(pl.lit("client"))


def at_sender() -> pl.Expr:
    """Whether the capture at ``vantage`` stood at the sender of direction ``forward``."""
    return (pl.col("vantage") == sender()).fill_null(False)


def distance() -> pl.Expr:
    """Rank of ``vantage`` from the sender of direction ``forward``: 0 (there) to 3 (receiver)."""
    at = pl.col("vantage")
    return (
        pl.when(at == sender())
        .then(RANKS.index("sender"))
        .when(at == receiver())
        .then(RANKS.index("receiver"))
        .when(at == "middle")
        .then(RANKS.index("middle"))
        .otherwise(RANKS.index("unknown"))
        .cast(pl.Int8)
    )
