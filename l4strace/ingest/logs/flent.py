"""flent data files (`.flent.gz`): the sender's socket polled by netperf or ss, with epoch times.

A file names addresses, not ports. Its flows are told apart by how many bytes they sent.
"""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from l4strace import _native
from l4strace.ingest.logs.samples import Log, shaped

MOST_BYTES = 1 << 30
"""A larger file is no flent file that a test made."""
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
    data = _parsed(path, log)
    meta = data["metadata"]
    egress = meta.get("EGRESS_INFO") or {}
    log.comment = f"flent {meta.get('NAME', '')}, kernel {meta.get('KERNEL_RELEASE', '')}"
    parts = []
    for name, values in data["raw_values"].items():
        series = (meta.get("SERIES_META") or {}).get(name) or {}
        part = _series(name, values)
        if part is None:
            continue
        sends = "upload" in name.lower()
        here, there = egress.get("src") or meta.get("LOCAL_HOST"), meta.get("HOST")
        parts.append(
            part.with_columns(
                saddr=pl.lit(here if sends else there),
                daddr=pl.lit(there if sends else here),
                cc=pl.lit(series.get("CONG_CONTROL")),
            )
        )
        if isinstance(series.get("BYTES_SENT"), (int, float)):
            log.bytes_sent[name] = int(series["BYTES_SENT"])
    if parts:
        log.samples = shaped(pl.concat(parts, how="diagonal_relaxed")).sort("ts_ns")
    log.records = log.samples.height
    return log


def _parsed(path: str, log: Log) -> dict[str, Any]:
    chunks = _native.read_text(path)
    held = bytearray()
    for chunk in chunks:
        held += chunk
        if len(held) > MOST_BYTES:
            raise ValueError("too large for a flent file")
    log.compression, log.bytes_read = chunks.compression, chunks.bytes_read
    data = json.loads(held)
    if not isinstance(data, dict) or not {"metadata", "raw_values"} <= data.keys():
        raise ValueError("no flent data file")
    return data


def _series(name: str, values: list[dict[str, Any]]) -> pl.DataFrame | None:
    """Samples of one test flow; None for pings and the like, which have no socket."""
    polled = [v for v in values if isinstance(v, dict) and "t" in v and "tcp_cwnd" in v]
    if not polled:
        return None
    columns: dict[str, list[Any]] = {
        column: [None if v.get(field) is None else float(v[field]) * factor for v in polled]
        for column, (field, factor) in COLUMNS.items()
    }
    taken = {field for field, _ in COLUMNS.values()} | {"t"}
    rest = [{k: v for k, v in value.items() if k not in taken} for value in polled]
    return pl.DataFrame(
        {
            "ts_ns": [round(float(v["t"]) * 1e9) for v in polled],
            "event": "poll",
            "sk": name,
            "extra": [json.dumps(r) if r else None for r in rest],
            **columns,
        },
        schema_overrides=dict.fromkeys(columns, pl.Float64()) | {"extra": pl.String()},
    )
