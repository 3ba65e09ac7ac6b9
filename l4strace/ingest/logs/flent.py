"""flent data files (`.flent.gz`): the sender's socket polled by netperf or ss, with epoch times.

A file names addresses, not ports. The bytes that each flow sent distinguish its flows.
"""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from l4strace.ingest import untrusted
from l4strace.ingest.logs.samples import Log, shaped
from l4strace.schema.words import Stat

MOST_BYTES = 64 << 20
"""Decompressed; ten minutes of eight flows, polled five times a second, take 20 MB."""
MOST_TESTS = 256
COLUMNS = {
    "snd_cwnd": ("tcp_cwnd", 1.0),
    "srtt_us": ("tcp_rtt", 1e3),
    "mdev_us": ("tcp_rtt_var", 1e3),
    "pacing_rate_bps": ("tcp_pacing_rate", 1e6),
    "delivered": ("tcp_delivered", 1.0),
    "delivered_ce": ("tcp_delivered_ce", 1.0),
}
"""Column -> field of a raw value, and the factor to the column's unit."""


def read(path: str) -> Log:
    """Reads one file. Raises ValueError when it is no flent file."""
    log = Log(path, "flent", clock="realtime", unix_offset_ns=0)
    data = untrusted.document(path, MOST_BYTES)
    if not {"metadata", "raw_values"} <= data.keys():
        raise ValueError("no flent data file")
    meta = untrusted.mapping(data["metadata"])
    log.comment = f"flent {_name(meta, 'NAME') or ''}, kernel {_name(meta, 'KERNEL_RELEASE') or ''}"
    tests = untrusted.mapping(data["raw_values"]).items()
    parts = [
        _test(untrusted.text(name) or "", values, meta, log)
        for name, values in list(tests)[:MOST_TESTS]
    ]
    if found := [part for part in parts if part is not None]:
        log.samples = shaped(pl.concat(found, how="diagonal_relaxed")).sort("ts_ns")
    log.records = log.samples.height
    return log


def _name(values: dict[str, Any], key: str) -> str | None:
    return untrusted.text(values.get(key))


def _test(name: str, values: object, meta: dict[str, Any], log: Log) -> pl.DataFrame | None:
    """Samples of one test flow with its addresses; None for pings and the like."""
    part = _series(name, values if isinstance(values, list) else [], log)
    if part is None:
        return None
    series = untrusted.mapping(untrusted.mapping(meta.get("SERIES_META")).get(name))
    egress = untrusted.mapping(meta.get("EGRESS_INFO"))
    here, there = _name(egress, "src") or _name(meta, "LOCAL_HOST"), _name(meta, "HOST")
    sends = "upload" in name.lower()
    sent = untrusted.number(series.get("BYTES_SENT"))
    if sent is not None and 0 <= sent < 2**62:
        log.bytes_sent[name] = int(sent)
    return part.with_columns(
        saddr=pl.lit(here if sends else there, pl.String),
        daddr=pl.lit(there if sends else here, pl.String),
        cc=pl.lit(_name(series, "CONG_CONTROL"), pl.String),
    )


def _series(name: str, values: list[Any], log: Log) -> pl.DataFrame | None:
    """Samples of one test flow; None for pings and the like, which have no socket."""
    polled = [v for v in values if isinstance(v, dict) and "t" in v and "tcp_cwnd" in v]
    timed = [(t, v) for v in polled if (t := _time_ns(v["t"])) is not None]
    log.lose(Stat.LINES_UNREAD, len(polled) - len(timed), "loss", "Polls without a time.")
    if not timed:
        return None
    columns: dict[str, list[Any]] = {
        column: [
            None if (value := untrusted.number(v.get(field))) is None else value * factor
            for _, v in timed
        ]
        for column, (field, factor) in COLUMNS.items()
    }
    taken = {field for field, _ in COLUMNS.values()} | {"t"}
    rest = [{k: v for k, v in value.items() if k not in taken} for _, value in timed]
    return pl.DataFrame(
        {
            "ts_ns": [t for t, _ in timed],
            "event": "poll",
            "sk": name,
            "extra": [json.dumps(r) if r else None for r in rest],
            **columns,
        },
        schema_overrides=dict.fromkeys(columns, pl.Float64()) | {"extra": pl.String()},
    )


def _time_ns(seconds: object) -> int | None:
    value = untrusted.number(seconds)
    return None if value is None or abs(value) > 1e10 else untrusted.time_ns(round(value * 1e9))
