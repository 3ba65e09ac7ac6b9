"""Columns of the packet chart against rows of `packets` with known answers."""

from __future__ import annotations

import polars as pl

from l4strace.model import Stretch
from l4strace.page.drawing import packet_rows
from l4strace.schema import TABLES

ORIGIN_NS = 1_000_000_000
FLOW = {"transport": "tcp", "mode": "accecn", "final_ack_frame": 3}
ROWS = [
    # frame, ts_ns, forward, seq, ack, ack_raw, payload_len, seen, sack
    (7, 10, True, 5001, 1, 1, 1000, "new", None),
    (8, 20, True, 5001, 1, 1, 1000, "retransmit", None),
    (9, 30, False, 1, 5001, 300, 0, None, [1300, 2300]),
]
NAMES = ("frame", "ts_ns", "forward", "seq", "ack", "ack_raw", "payload_len", "seen", "sack")


def stretch() -> Stretch:
    rows = pl.DataFrame(ROWS, schema=list(NAMES), orient="row").with_columns(
        pl.col("ts_ns") + ORIGIN_NS, flow=2, ip_ecn=1, tcp_flags=16
    )
    moments = {4: ORIGIN_NS + 20}
    table = TABLES["packets"].conform(rows)
    return Stretch(0, 2, True, ORIGIN_NS + 5, ORIGIN_NS + 35, moments, table)


def test_numbers_count_from_the_first_byte_of_the_data() -> None:
    drawn = packet_rows.columns(stretch(), ORIGIN_NS, FLOW)
    assert (drawn["base"], drawn["start"]) == (5001, 5e-9)
    assert drawn["t"] == [5, 10, 25]
    assert (drawn["out"], drawn["seq"], drawn["ack"]) == ([1, 1, 0], [0, 0, 1], [1, 0, 0])
    assert drawn["seen"] == [0, 1, None]
    assert drawn["sack"] == {"9": [1000, 2000]}
    assert drawn["moments"] == [15]
    assert (drawn["accecn"], drawn["handshake"]) == (True, 3)


def test_a_stretch_without_packets_draws_nothing() -> None:
    assert packet_rows.columns(stretch()._replace(packets=None), ORIGIN_NS, FLOW) == {}
