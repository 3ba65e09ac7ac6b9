"""SCReAM's CSV files (`-log`, `-txrxlog`): one row for each RTP packet that feedback acknowledged.

Of `-log` the header names 17 columns, rows have up to 20 values: those behind the names are passed
over. `-txrxlog` has no header; its rows are when feedback came, the packet's number, when it left,
when it arrived (on the receiver's clock), and the difference of these. Times are seconds from the
start of the program; rows of one feedback packet have the same first one.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import polars as pl

from l4strace.ingest.logs.blocks import blocks
from l4strace.ingest.logs.samples import DATAGRAMS, MOST_DATAGRAMS, Log, shaped
from l4strace.ingest.logs.thin import Keeper
from l4strace.schema.words import Stat

BEGINS = re.compile(rb'\A\s*"Time \[s\]",\s*"Estimated queue delay \[s\]"')
SOCKET = "SCReAM"
COLUMNS = {"time": 0, "rtt": 2, "cwnd": 3, "in_flight": 4, "acked": 9, "marked": 10}
"""Place of each value that is read."""
LEAST_VALUES = 17
TRANSMITTED_BEGINS = re.compile(rb"\A\d{1,10}\.\d{4}, ?\d{1,10}(?:, ?-?\d{1,10}\.\d{4}){3}\r?\n")
TRANSMITTED = {"time": 0, "sent": 2, "arrived": 3, "one_way": 4}
TRANSMITTED_VALUES = 5
ROUNDED_S = 0.0002
"""How far the difference of two times of four decimals may lie from what its row states."""
NUMBER = r"^\s*-?\d{1,15}(?:\.\d{1,9})?\s*$"
FARTHEST_S = float(1 << 31)


def read(path: str) -> Log:
    """Reads a file of `-log`. Raises ValueError when no row is left."""
    return _read(path, _logged)


def read_transmitted(path: str) -> Log:
    """Reads a file of `-txrxlog`. Raises ValueError when no row is left."""
    return _read(path, _transmitted)


def _read(path: str, rows_of: Callable[[pl.Series], pl.DataFrame]) -> Log:
    log, keeper = Log(path, "scream", transport="rtp"), Keeper()
    datagrams: list[pl.DataFrame] = []
    unread = kept = 0
    delivered = marked = size = 0
    for block in blocks(path, log):
        lines = pl.Series("line", bytes(block).decode("utf-8", "replace").split("\n"))
        rows = rows_of(lines)
        named = lines.str.starts_with('"') | (lines.str.strip_chars() == "")
        unread += lines.len() - rows.height - int(named.sum())
        if rows.is_empty():
            continue
        size = max(size, int(rows["acked"].max() or 0))  # type: ignore[arg-type]
        counted = rows.with_columns(
            delivered=delivered + (pl.col("acked") > 0).cum_sum(),
            marked=marked + (pl.col("marked") > 0).cum_sum(),
        )
        delivered, marked = int(counted["delivered"][-1]), int(counted["marked"][-1] or 0)
        keeper.add(_samples(counted, max(1, size)))
        if kept < MOST_DATAGRAMS:
            datagrams.append(_datagrams(counted).head(MOST_DATAGRAMS - kept))
            kept += datagrams[-1].height
    log.samples = keeper.finish()
    if log.samples.is_empty():
        raise ValueError("a log of SCReAM without a row that can be read")
    both = pl.concat(datagrams)
    # Rows of one feedback packet may stand on both sides of a border between blocks.
    fed_back = both.filter(~pl.col("along")).unique(maintain_order=True)
    log.datagrams = pl.concat([both.filter("along"), fed_back])
    log.records = log.samples.height + keeper.thinned
    log.lose(Stat.LINES_UNREAD, unread, "info", "Rows without the numbers of a packet.")
    log.lose(Stat.SAMPLES_THINNED, keeper.thinned, "info", keeper.WHY)
    return log


def _logged(lines: pl.Series) -> pl.DataFrame:
    whole = pl.col("v").list.len() >= LEAST_VALUES
    return _numbers(lines, whole, COLUMNS).with_columns(sent=pl.lit(None, pl.Float64))


def _transmitted(lines: pl.Series) -> pl.DataFrame:
    """Rows in the columns of `-log`; neither sizes nor marks nor the window are in them."""
    rows = _numbers(lines, pl.col("v").list.len() == TRANSMITTED_VALUES, TRANSMITTED)
    lasted = pl.col("arrived") - pl.col("sent")
    agree = (lasted - pl.col("one_way")).abs() <= ROUNDED_S
    nothing = pl.lit(None, pl.Float64)
    return rows.filter(agree, pl.col("sent").abs() <= FARTHEST_S).select(
        *("time", "sent"),
        rtt=pl.col("time") - pl.col("sent"),
        cwnd=nothing,
        in_flight=nothing,
        acked=pl.lit(1.0),
        marked=nothing,
    )


def _numbers(lines: pl.Series, whole: pl.Expr, columns: dict[str, int]) -> pl.DataFrame:
    """What ``columns`` name of the ``whole`` rows, without those that hold something else."""
    found = (
        lines.to_frame()
        .select(v=pl.col("line").str.split(","))
        .filter(whole)
        .select(
            pl.when(_value(place).str.contains(NUMBER))
            .then(_value(place).str.strip_chars())
            .cast(pl.Float64, strict=False)
            .alias(name)
            for name, place in columns.items()
        )
    )
    return found.drop_nulls().filter(pl.col("time").abs() <= FARTHEST_S)


def _value(place: int) -> pl.Expr:
    return pl.col("v").list.get(place, null_on_oob=True)


def _ns(name: str) -> pl.Expr:
    return (pl.col(name) * 1e9).round().cast(pl.Int64, strict=False)


def _samples(rows: pl.DataFrame, size: int) -> pl.DataFrame:
    return shaped(
        rows.select(
            ts_ns=_ns("time"),
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


def _datagrams(rows: pl.DataFrame) -> pl.DataFrame:
    """When packets left and feedback arrived; their sizes are not in the log."""

    def at(name: str, *, along: bool) -> pl.DataFrame:
        return rows.drop_nulls(name).select(
            sk=pl.lit(SOCKET),
            ts_ns=_ns(name),
            along=pl.lit(value=along),
            bytes=pl.lit(None, dtype=DATAGRAMS["bytes"]),
        )

    fed_back = at("time", along=False).unique(maintain_order=True)
    return pl.concat([at("sent", along=True), fed_back])
