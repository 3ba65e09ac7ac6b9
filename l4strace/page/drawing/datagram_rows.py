"""The datagrams of one stretch as the packet chart draws them: columns of small numbers."""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.model import Stretch
from l4strace.page.drawing import rises
from l4strace.wording.moments import NANO


def columns(stretch: Stretch, origin_ns: int) -> dict[str, Any]:
    """Columns by name, as `packet_rows.columns`.

    `seq` is the number of a packet of the data: its own where all of them state one (``numbered``),
    else its place among those drawn. `ack` is the number behind the highest that a packet reports
    on, null where the packets have none; `step` how many more CE it reports.
    """
    rows = pl.DataFrame() if stretch.packets is None else stretch.packets
    if rows.is_empty():
        return {}
    ours = pl.col("forward") == stretch.forward
    sent = rows.filter(ours & (pl.col("reported").is_null()))
    numbered = sent.height > 0 and sent["number"].null_count() == 0
    lists = {
        "t": pl.col("ts_ns") - stretch.start_ns,
        "frame": pl.col("frame"),
        "out": ours.cast(pl.UInt8),
        "seq": pl.col("number" if numbered else "order"),
        "ack": (pl.col("reported") + 1) if numbered else pl.lit(None, pl.Int64),
        "len": pl.col("bytes"),
        "ecn": pl.col("ip_ecn"),
        "step": pl.col("ce"),
    }
    table = rows.select(expression.alias(name) for name, expression in lists.items())
    return {
        "start": (stretch.start_ns - origin_ns) / NANO,
        "udp": True,
        "numbered": numbered,
        "moments": sorted({ns - stretch.start_ns for ns in stretch.moments.values()}),
        **rises.of_direction(table).to_dict(as_series=False),
    }
