"""SCReAM's CSV (`-log`): one row for each RTP packet that feedback acknowledged.

The header names 17 columns, rows have up to 20 values: those behind the names are passed over.
Times are seconds from the start of the program; rows of one feedback packet have the same.
"""

from __future__ import annotations

import re

import polars as pl

from l4strace.ingest.logs.blocks import blocks
from l4strace.ingest.logs.samples import DATAGRAMS, Log, shaped
from l4strace.ingest.logs.thin import Keeper
from l4strace.schema.words import Stat

BEGINS = re.compile(rb'\A\s*"Time \[s\]",\s*"Estimated queue delay \[s\]"')
SOCKET = "SCReAM"
COLUMNS = {"time": 0, "rtt": 2, "cwnd": 3, "in_flight": 4, "acked": 9, "marked": 10}
"""Place of each value that is read."""
LEAST_VALUES = 17
NUMBER = r"^\s*-?\d{1,15}(?:\.\d{1,9})?\s*$"
FARTHEST_S = float(1 << 31)
MOST_DATAGRAMS = 60_000
"""Feedback packets that are kept to find the log's place in a capture."""


def read(path: str) -> Log:
    """Reads one file. Raises ValueError when no row is left."""
    log, keeper = Log(path, "scream", transport="rtp"), Keeper()
    received: list[pl.DataFrame] = []
    unread = kept = 0
    delivered = marked = size = 0
    for block in blocks(path, log):
        lines = pl.Series("line", bytes(block).decode("utf-8", "replace").split("\n"))
        rows = _rows(lines)
        named = lines.str.starts_with('"') | (lines.str.strip_chars() == "")
        unread += lines.len() - rows.height - int(named.sum())
        if rows.is_empty():
            continue
        size = max(size, int(rows["acked"].max() or 0))  # type: ignore[arg-type]
        counted = rows.with_columns(
            delivered=delivered + (pl.col("acked") > 0).cum_sum(),
            marked=marked + (pl.col("marked") > 0).cum_sum(),
        )
        delivered, marked = int(counted["delivered"][-1]), int(counted["marked"][-1])
        keeper.add(_samples(counted, max(1, size)))
        if kept < MOST_DATAGRAMS:
            received.append(_feedback(counted).head(MOST_DATAGRAMS - kept))
            kept += received[-1].height
    log.samples = keeper.finish()
    if log.samples.is_empty():
        raise ValueError("a log of SCReAM without a row that can be read")
    # Rows of one feedback packet may stand on both sides of a border between blocks.
    log.datagrams = pl.concat(received).unique(maintain_order=True)
    log.records = log.samples.height + keeper.thinned
    log.lose(Stat.LINES_UNREAD, unread, "info", "Rows with fewer than 17 numbers.")
    log.lose(Stat.SAMPLES_THINNED, keeper.thinned, "info", keeper.WHY)
    return log


def _rows(lines: pl.Series) -> pl.DataFrame:
    values = lines.to_frame().select(v=pl.col("line").str.split(","))
    whole = values.filter(pl.col("v").list.len() >= LEAST_VALUES)
    found = whole.select(
        pl.when(_value(place).str.contains(NUMBER))
        .then(_value(place).str.strip_chars())
        .cast(pl.Float64, strict=False)
        .alias(name)
        for name, place in COLUMNS.items()
    )
    return found.drop_nulls().filter(pl.col("time").abs() <= FARTHEST_S)


def _value(place: int) -> pl.Expr:
    return pl.col("v").list.get(place, null_on_oob=True)


def _ns() -> pl.Expr:
    return (pl.col("time") * 1e9).round().cast(pl.Int64)


def _samples(rows: pl.DataFrame, size: int) -> pl.DataFrame:
    return shaped(
        rows.select(
            ts_ns=_ns(),
            sk=pl.lit(SOCKET),
            event=pl.lit("ack"),
            cc=pl.lit("scream"),
            snd_cwnd=(pl.col("cwnd") / size).floor(),
            packets_out=(pl.col("in_flight") / size).floor(),
            rs_rtt_us=(pl.col("rtt") * 1e6).round(),
            delivered="delivered",
            delivered_ce="marked",
        )
    )


def _feedback(rows: pl.DataFrame) -> pl.DataFrame:
    """When feedback arrived; its size is not in the log."""
    return rows.select(
        sk=pl.lit(SOCKET),
        ts_ns=_ns(),
        along=pl.lit(value=False),
        bytes=pl.lit(None, dtype=DATAGRAMS["bytes"]),
    ).unique(maintain_order=True)
