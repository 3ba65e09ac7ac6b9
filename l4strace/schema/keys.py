"""What identifies directions, paths and hosts in tables; the neighbors of a round."""

from __future__ import annotations

import polars as pl

KEY = ("source", "flow", "forward")
"""What identifies a row of `directions`, and the direction of a row in most tables."""

PATH = ("source", "path")
"""What identifies a path: `neighbors` names the directions that share one."""

SENDER = ("source", "sender")
"""What identifies the host that sends the data of a direction (`neighbors`): one kernel."""

DIRECTION = ("flow", "forward")
"""What identifies a flow direction, whichever input shows it."""


def of_round(steps: int, column: pl.Expr) -> pl.Expr:
    """``column`` of the round so many ``steps`` later (negative: earlier) in the same direction.

    Needs rows that are `in_order`; null beyond the ends. ``shift().over(KEY)`` gives the
    same and takes a hundred times as long, because it makes a group of every direction.
    """
    same = pl.all_horizontal(pl.col(key) == pl.col(key).shift(-steps) for key in KEY)
    return pl.when(same).then(column.shift(-steps))
