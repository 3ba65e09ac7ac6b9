"""The table of flows."""

from __future__ import annotations

import polars as pl

from l4strace import pipeline
from l4strace.page.case import Case
from l4strace.page.sections import flows
from tests.support.ends import recorded


def test_of_several_rows_of_a_direction_the_first_counts() -> None:
    """The capture nearest to the sender comes first."""
    table = pl.DataFrame({"flow": [1, 1, 2, 3], "kind": ["l4s", "classic", "fifo", "per-flow"]})
    rows = flows._by(table, pl.DataFrame({"flow": [1, 2]}), "flow")
    assert {flow: row["kind"] for flow, row in rows.items()} == {1: "l4s", 2: "fifo"}


def test_a_flow_over_udp_has_one_goodput_in_table_and_chart() -> None:
    """What its receiver reported: the recording ends before the last reports."""
    run = recorded("up1", "a")
    case = Case(run, pipeline.judge(run))
    row = flows.build(case).rows[0]
    (direction,) = [one for one in case.charted if one.key == row.key]
    length_s = (direction.totals["last_ns"] - direction.totals["first_ns"]) / 1e9
    assert row.goodput.value == round(8 * direction.totals["acked_bytes"] / length_s)
    assert direction.delivered_bytes == direction.totals["acked_bytes"]
    assert direction.totals["acked_bytes"] < direction.totals["payload_bytes"]
