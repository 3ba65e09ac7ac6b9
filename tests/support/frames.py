"""Hand-made tables for tests: say only what matters, the rest is a plain default.

A column given as a list sets the number of rows; a scalar is repeated. Columns that are neither
given nor defaulted are null, which means "not present" as everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from l4strace.evidence import Capture, Evidence
from l4strace.schema import STREAMED, TABLES

MS = 1_000_000
ROUND_NS = 10 * MS
"""Length of a default round: the base RTT of the lab runs."""

PLAIN: dict[str, dict[str, Any]] = {
    "sources": {"path": "run.pcap", "kind": "pcap", "complete": True},
    "flows": {
        "transport": "tcp",
        "client": "10.0.1.2",
        "client_port": 40001,
        "server": "10.0.3.2",
        "server_port": 5201,
        "initiator": "syn",
        "handshake": "full",
        "mode": "accecn",
        "mode_reason": "SYN/ACK with ACE 2",
        "syn_count": 1,
        "synack_count": 1,
        "simultaneous_open": False,
        "vantage": "client",
        "ended": "fin",
        "first_ns": 0,
        "last_ns": 20_000 * MS,
    },
    "directions": {
        "packets": 1000,
        "data_packets": 1000,
        "payload_bytes": 1_448_000,
        "acked_bytes": 1_448_000,
        "max_payload": 1448,
        "retransmits": 0,
        "super_packets": 0,
        "rtt_min_us": 10_000.0,
        "first_ns": 0,
        "last_ns": 20_000 * MS,
    },
    "rounds": {
        "sent_packets": 40,
        "sent_bytes": 40 * 1448,
        "acked_packets": 40,
        "acked_bytes": 40 * 1448,
        "ce_lo": 0,
        "ce_hi": 0,
        "ce_best": 0,
        "rtt_min_us": 10_000.0,
        "rtt_mean_us": 10_400.0,
        "rtt_max_us": 10_800.0,
        "rtt_mdev_us": 100.0,
        "rtt_samples": 20,
        "queue_delay_us": 400.0,
        "inflight_max_packets": 40,
        "inflight_max_bytes": 40 * 1448,
        "cwnd_packets": 40.0,
        "limited_by": "cwnd",
        "goodput_bps": 40 * 1448 * 8 / 0.01,
        "retransmits": 0,
        "out_of_order": 0,
        "burst_bytes": 1448,
        "slow_start": False,
    },
    "kernel": {"event": "ack", "cc": "prague"},
    "stats": {"name": "not_tcp", "count": 1, "severity": "info"},
    "detector": {"origin": "kernel", "exact": True},
    "bottlenecks": {"kind": "unknown", "confidence": 0.0, "losses": 0, "reason": ""},
    "cuts": {"origin": "packets", "cause": "ce", "law": "none"},
}
"""Defaults by table; `source`, `flow`, `forward` and times are filled for every table."""

WITHOUT_OFFLOADS = {"data_segments": "data_packets", "ce_segments": "data_ce"}
"""Packets on the wire are those of the capture unless stated."""


def frame(table: str, /, **columns: Any) -> pl.DataFrame:
    """Rows of the declared ``table``; lists set the row count, scalars repeat."""
    declared = TABLES[table]
    unknown = set(columns) - set(declared.schema.names())
    assert not unknown, f"{table} has no column {sorted(unknown)}"
    values = _defaults(declared.schema.names()) | PLAIN.get(table, {}) | columns
    for name, packets in WITHOUT_OFFLOADS.items():
        if name in declared.schema.names():
            values.setdefault(name, values.get(packets))
    height = max((len(v) for v in columns.values() if isinstance(v, list)), default=1)
    return pl.DataFrame(
        {
            c.name: pl.Series(c.name, _repeat(values.get(c.name), height), dtype=c.dtype)
            for c in declared.columns
        }
    )


def rounds(count: int = 100, /, *, begin_ns: int = 0, **columns: Any) -> pl.DataFrame:
    """``count`` consecutive rounds of one flow direction, 10 ms each unless told otherwise."""
    times = {
        "round": list(range(count)),
        "start_ns": [begin_ns + i * ROUND_NS for i in range(count)],
        "end_ns": [begin_ns + (i + 1) * ROUND_NS for i in range(count)],
        "first_frame": [1 + 100 * i for i in range(count)],
        "last_frame": [100 * (i + 1) for i in range(count)],
    }
    return frame("rounds", **(times | columns))


def capture(**tables: Any) -> Capture:
    """A capture of the given tables; the others are empty.

    `host_files` and `aggregates` pass through.
    """
    names = ("sources", "flows", "directions", "rounds", "paths", "kernel", "stats", "qdiscs")
    return Capture(**_fill(names, tables))


def evidence(**tables: Any) -> Evidence:
    """Evidence of the given tables; the others are empty."""
    return Evidence(**_fill(tuple(name for name in TABLES if name not in STREAMED), tables))


def stack(*frames: pl.DataFrame) -> pl.DataFrame:
    """Rows of several frames of one table."""
    return pl.concat(frames)


def _fill(names: tuple[str, ...], tables: Mapping[str, Any]) -> dict[str, Any]:
    return {name: TABLES[name].empty() for name in names} | dict(tables)


def _defaults(names: list[str]) -> dict[str, Any]:
    zero = {"source": 0, "flow": 0, "forward": True, "ts_ns": 0, "start_ns": 0, "end_ns": 0}
    return {name: value for name, value in zero.items() if name in names}


def _repeat(value: Any, height: int) -> list[Any]:
    if not isinstance(value, list):
        return [value] * height
    assert len(value) == height, f"{len(value)} values for {height} rows"
    return value


CARRIED = frame("directions", flow=[0, 1, 2], data_packets=[1000, 1000, 3])
PATHS = frame(
    "paths",
    flow=[0, 1, 2],
    forward=True,
    near=0,
    far=1,
    matched=[200_000, 41_494, 7],
    lost=0,
    ect1_to_ce=[4_300, 0, 0],
    ect0_to_ce=[0, 39, 0],
    owd_median_us=[147.0, 13_407.0, 8.0],
    owd_p99_us=[467.0, 21_867.0, 8.0],
)
"""Two flows that two captures of a path share, and one of a few packets."""
