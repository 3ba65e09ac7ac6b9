"""Columns of the packet chart over UDP against datagrams with known answers."""

from __future__ import annotations

import polars as pl

from l4strace.model import Stretch
from l4strace.page.drawing import datagram_rows

ORIGIN_NS = 1_000_000_000
NAMES = ("frame", "ts_ns", "forward", "bytes", "ip_ecn", "number", "reported", "ce", "order")
ROWS = [
    (7, 10, True, 1400, 1, 70, None, None, 0),
    (8, 20, True, 1400, 3, 71, None, None, 1),
    (9, 30, False, 26, 1, None, 71, 1, 0),
]


def drawn(rows: list[tuple[object, ...]]) -> dict[str, object]:
    table = pl.DataFrame(rows, schema=list(NAMES), orient="row").with_columns(
        pl.col("ts_ns") + ORIGIN_NS, pl.col("number", "reported", "ce").cast(pl.Int64)
    )
    stretch = Stretch(0, 2, True, ORIGIN_NS + 5, ORIGIN_NS + 35, {4: ORIGIN_NS + 20}, table)
    return datagram_rows.columns(stretch, ORIGIN_NS)


def test_numbers_where_all_data_states_one() -> None:
    shown = drawn(ROWS)
    assert shown["numbered"]
    assert (shown["t"], shown["out"]) == ([5, 10, 25], [1, 1, 0])
    assert (shown["seq"], shown["ack"]) == ([70, 1, None], [None, None, 72])
    assert (shown["step"], shown["moments"]) == ([None, None, 1], [15])


def test_their_order_where_one_has_no_number() -> None:
    shown = drawn([ROWS[0], (*ROWS[1][:5], None, *ROWS[1][6:]), ROWS[2]])
    assert not shown["numbered"]
    assert (shown["seq"], shown["ack"]) == ([0, 1, 0], [None, None, None])
