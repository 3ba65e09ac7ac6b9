"""Neighbors of a round."""

import polars as pl

from l4strace.schema.keys import KEY, of_round


def test_of_round_does_not_look_into_another_direction() -> None:
    rounds = pl.DataFrame(
        {
            "source": [0, 0, 0, 0, 0],
            "flow": [1, 1, 1, 1, 2],
            "forward": [False, False, True, True, True],
            "round": [0, 1, 0, 1, 0],
            "seen": [10, 11, 20, 21, 30],
        }
    )
    for steps in (1, -1):
        found = rounds.select(of_round(steps, pl.col("seen"))).to_series()
        slow = rounds.select(pl.col("seen").shift(-steps).over(KEY)).to_series()
        assert found.to_list() == slow.to_list()
