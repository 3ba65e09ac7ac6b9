"""The packets of one stretch as the packet chart draws them: columns of small numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from l4strace.model import Stretch
from l4strace.page.drawing import datagram_rows, rises
from l4strace.wording.moments import NANO

SEEN = ("new", "retransmit", "out of order", "probe", "copy", "stray")
"""What a packet turned out to be; the chart has their numbers."""
HALF, WRAP = 1 << 31, 1 << 32


def columns(stretch: Stretch, origin_ns: int, flow: Mapping[str, Any]) -> dict[str, Any]:
    """Columns by name: `t` counts from ``start`` (seconds on the page's axis) in ns; `out` is 1 for
    a packet of the direction whose data is drawn; numbers of data count from ``base``. What rises
    is given by its steps (`rises`). ``flow`` is a row of `flows` of the same capture."""
    if flow["transport"] not in (None, "tcp"):
        return datagram_rows.columns(stretch, origin_ns)
    rows = pl.DataFrame() if stretch.packets is None else stretch.packets
    if rows.is_empty():
        return {}
    ours = pl.col("forward") == stretch.forward
    shown = rows.with_columns(out=ours.cast(pl.UInt8))
    base = int(shown.select(_base(ours)).item() or 0)
    lists = {
        "t": pl.col("ts_ns") - stretch.start_ns,
        "frame": pl.col("frame"),
        "out": pl.col("out"),
        "seq": pl.when(ours).then(pl.col("seq") - base).otherwise(pl.col("seq")),
        "ack": pl.when(ours).then(pl.col("ack")).otherwise(pl.col("ack") - base),
        "len": pl.col("payload_len"),
        "ecn": pl.col("ip_ecn"),
        "flags": pl.col("tcp_flags"),
        "window": pl.col("window_bytes"),
        "seen": pl.col("seen").replace_strict(SEEN, range(len(SEEN)), return_dtype=pl.UInt8),
    }
    table = shown.select(expression.alias(name) for name, expression in lists.items())
    return {
        "start": (stretch.start_ns - origin_ns) / NANO,
        "base": base,
        "udp": False,
        "accecn": flow["mode"] == "accecn",
        "handshake": flow["final_ack_frame"],
        "moments": sorted({ns - stretch.start_ns for ns in stretch.moments.values()}),
        "sack": _blocks(shown.filter(~ours), base),
        **rises.of_direction(table).to_dict(as_series=False),
    }


def _base(ours: pl.Expr) -> pl.Expr:
    """The lowest number of the direction that is sent or acknowledged."""
    sent = pl.col("seq").filter(ours & (pl.col("payload_len") > 0)).min()
    return pl.min_horizontal(sent, pl.col("ack").filter(~ours).min())


def _blocks(acks: pl.DataFrame, base: int) -> dict[str, list[int]]:
    """SACK edges by frame, on the scale of the data."""
    return {
        str(frame): [ack - base + (edge - raw + HALF) % WRAP - HALF for edge in edges]
        for frame, ack, raw, edges in acks.drop_nulls("sack")
        .select("frame", "ack", "ack_raw", "sack")
        .iter_rows()
    }
