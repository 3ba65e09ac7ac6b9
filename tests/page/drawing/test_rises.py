"""Steps of rising columns against numbers with known differences."""

from __future__ import annotations

import polars as pl

from l4strace.page.drawing import rises


def test_each_direction_has_its_own_steps_and_what_is_absent_stays_absent() -> None:
    table = pl.DataFrame(
        {
            "out": [1, 0, 1, 1, 0],
            "seq": [100, 7, 250, 200, 7],
            "ack": [None, 5, 6, None, 9],
            "len": [1, 2, 3, 4, 5],
        }
    )
    found = rises.of_direction(table).to_dict(as_series=False)
    assert found["seq"] == [100, 7, 150, -50, 0]
    assert found["ack"] == [None, 5, 6, None, 4]
    assert found["len"] == [1, 2, 3, 4, 5]
