"""Kernel logs -> the capture: read, put on the captures' clock, joined to the captures' flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl

from l4strace.evidence import Capture
from l4strace.ingest.join import clock, senders, sockets
from l4strace.ingest.logs import open_log
from l4strace.ingest.logs.samples import Log
from l4strace.prague.scale import scaled, width
from l4strace.schema.capture import FLOWS, SOURCES, STATS
from l4strace.schema.logs import KERNEL, QDISCS
from l4strace.schema.words import Stat

Progress = Callable[[int, int], None]


def load_logs(capture: Capture, paths: Sequence[str], progress: Progress | None = None) -> Capture:
    """``capture`` with the logs' samples, sources, losses and aggregates.

    A log alone, or one that belongs to no capture, gets flow rows of its own. Of a log that joins
    its captures only their sockets are kept: others are of other namespaces and interfaces.
    Raises InputError for a file that cannot be read or is in no known dialect.
    """
    for done, path in enumerate(paths):
        log = open_log.read(path)
        added = _added if log.transport == "tcp" else _sender_added
        capture = added(capture, log)
        if progress:
            progress(done + 1, len(paths))
    return capture


def _added(capture: Capture, log: Log) -> Capture:
    source = _next(capture.sources["source"])
    bits, overruled = width(log.samples, log.alpha_bits)
    if overruled:
        claim = f"The log claims {log.alpha_bits} bits of alpha; its samples show {bits}."
        log.lose(Stat.ALPHA_SCALE_OVERRULED, 1, "info", claim)
    samples = scaled(sockets.with_ports(log.samples), bits)
    lives = sockets.sockets(samples)
    found = pl.concat(
        [
            sockets.candidates(lives, capture.flows),
            sockets.by_bytes(lives, capture.flows, capture.directions, log.bytes_sent),
        ]
    )
    placed = clock.place(log, samples, found, capture)
    joined = sockets.chosen(found.clear() if placed.refused else found, placed.offset_ns)
    alone = lives.join(joined, on=sockets.LIFE, how="anti", nulls_equal=True)
    _state(log, placed, capture, joined, alone, bits)
    if joined.height:
        samples = samples.join(alone, on=sockets.LIFE, how="anti", nulls_equal=True)
        alone = alone.clear()
    first = max(_next(table["flow"]) for table in (capture.flows, capture.udp_flows))
    own, keys = sockets.own_flows(alone, source, first, placed.offset_ns)
    flow_of = pl.concat([joined, keys])
    kernel = sockets.identified(samples, flow_of).with_columns(
        pl.col("ts_ns") + placed.offset_ns, source=pl.lit(source)
    )
    return replace(
        capture,
        sources=pl.concat([capture.sources, _source(log, source, placed)]),
        flows=pl.concat([capture.flows, own.with_columns(transport=pl.lit("tcp"))]),
        kernel=pl.concat([capture.kernel, KERNEL.conform(kernel)]),
        stats=pl.concat([capture.stats, _stats(log, source)]),
        qdiscs=pl.concat(
            [
                capture.qdiscs,
                QDISCS.conform(
                    log.qdiscs.with_columns(
                        pl.col("ts_ns") + placed.offset_ns, source=pl.lit(source)
                    )
                ),
            ]
        ),
        aggregates=capture.aggregates | log.aggregates,
    )


def _sender_added(capture: Capture, log: Log) -> Capture:
    """``capture`` with the log of a user-space sender, whose flows are over UDP."""
    source = _next(capture.sources["source"])
    lives = sockets.sockets(log.samples)
    placed, joined = senders.place(log, lives, capture)
    alone = lives.join(joined, on="sk", how="anti")
    _state(log, placed, capture, joined, alone, None)
    samples = log.samples
    if joined.height:
        samples = samples.join(alone, on="sk", how="anti")
        alone = alone.clear()
    first = max(_next(table["flow"]) for table in (capture.flows, capture.udp_flows))
    own, keys = senders.own_flows(alone, log, source, first, placed.offset_ns)
    kernel = sockets.identified(samples, pl.concat([joined, keys])).with_columns(
        pl.col("ts_ns") + placed.offset_ns, source=pl.lit(source)
    )
    return replace(
        capture,
        sources=pl.concat([capture.sources, _source(log, source, placed)]),
        udp_flows=pl.concat([capture.udp_flows, FLOWS.conform(own)]),
        udp_kernel=pl.concat([capture.udp_kernel, KERNEL.conform(kernel)]),
        stats=pl.concat([capture.stats, _stats(log, source)]),
    )


def _state(
    log: Log,
    placed: clock.Placement,
    capture: Capture,
    joined: pl.DataFrame,
    alone: pl.DataFrame,
    bits: int | None,
) -> None:
    """Reports what could not be joined or read, one statement each."""
    if log.kind == "ss" and bits is not None and bits > 20:
        scaled = f"alpha has {bits} bits; ss reports it {2 ** (bits - 20)} times too large"
        log.lose(Stat.ALPHA_SCALE_CORRECTED, 1, "info", f"In this log {scaled}.")
    if bits is None and log.samples["alpha_raw"].max():
        log.lose(
            Stat.ALPHA_SCALE_UNKNOWN, 1, "info", "Alpha fits several builds: left in its scale."
        )
    flows = capture.flows if log.transport == "tcp" else capture.udp_flows
    if flows.is_empty() or alone.is_empty():
        return
    if placed.refused:
        log.lose(Stat.KERNEL_LOG_NOT_JOINED, alone.height, "loss", f"Not joined: {placed.refused}.")
        return
    first = alone.row(0, named=True)
    name = f"{first['saddr'] or '?'}:{first['sport']} to {first['daddr'] or '?'}:{first['dport']}"
    if joined.is_empty():
        why = f"No socket of the log is in the captures ({name}): another host, or another time."
        log.lose(Stat.KERNEL_LOG_NOT_JOINED, alone.height, "loss", why)
    else:
        left = f"Left out, such as {name}: diagnose this log alone to see them."
        log.lose(Stat.SOCKETS_NOT_CAPTURED, alone.height, "info", left)


def _next(numbers: pl.Series) -> int:
    """The first number after all that are in use."""
    return 0 if numbers.is_empty() else int(numbers.max()) + 1  # type: ignore[arg-type]


def _source(log: Log, source: int, placed: clock.Placement) -> pl.DataFrame:
    offset = placed.offset_ns
    times = pl.concat([log.samples["ts_ns"], log.qdiscs["ts_ns"]])
    first, last = times.min(), times.max()
    row = {
        "source": source,
        "path": log.path,
        "kind": log.kind,
        "compression": log.compression,
        "records": log.records,
        "bytes": log.bytes_read,
        "first_ns": None if first is None else first + offset,  # type: ignore[operator]
        "last_ns": None if last is None else last + offset,  # type: ignore[operator]
        "complete": log.complete,
        "clock": log.clock,
        "clock_offset_ns": offset if offset or log.unix_offset_ns is not None else None,
        "clock_residual_ns": placed.residual_ns,
        "comment": log.comment,
    }
    return SOURCES.conform(pl.DataFrame([row], infer_schema_length=None))


def _stats(log: Log, source: int) -> pl.DataFrame:
    rows = [
        {"source": source, "name": name, "count": count, "severity": severity, "detail": detail}
        for name, count, severity, detail in log.stats
    ]
    return STATS.conform(pl.DataFrame(rows)) if rows else STATS.empty()
