"""Numbers that stand for directions and paths."""

import polars as pl

from l4strace.derive import neighbors, numbers
from l4strace.evidence import Capture
from l4strace.schema.keys import KEY
from tests.support.frames import capture, frame, rounds, stack


def made(*tables: pl.DataFrame) -> Capture:
    flows = frame("flows", flow=[0, 1, 2], server=["10.0.3.2", "10.0.2.2", "10.0.3.7"])
    return capture(
        flows=flows, directions=frame("directions", flow=[0, 1, 2]), rounds=stack(*tables)
    )


def test_a_round_has_the_row_of_its_direction() -> None:
    run = made(rounds(3, flow=2), rounds(2, flow=0), rounds(1, flow=7))
    assert numbers.directions(run).to_list() == [2, 2, 2, 0, 0, None]
    named = neighbors.directions(run)[numbers.directions(run).drop_nulls()].select(KEY)
    assert named.equals(run.rounds.head(5).select(KEY))


def test_flows_between_the_same_networks_have_one_path() -> None:
    assert numbers.paths(made(rounds(1))).to_list() == [1, 0, 1]


def test_what_only_some_directions_have_is_null_for_the_others() -> None:
    run = made(rounds(2, flow=1), rounds(1))
    known = run.directions.filter(flow=1).select(KEY).with_columns(base_us=pl.lit(7.0))
    assert numbers.looked_up(run, known, "base_us").to_list() == [7.0, 7.0, None]
