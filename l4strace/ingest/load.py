"""The files of one run -> Capture: tables of tracked packets, logs joined, host files parsed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import polars as pl

from l4strace import console
from l4strace.core import _native
from l4strace.errors import InputError
from l4strace.evidence import Capture
from l4strace.ingest import host_file, keys, reported, tracked, translated, untrusted
from l4strace.ingest.digest import with_digests
from l4strace.ingest.join import controls
from l4strace.ingest.tracked import Progress, Tracked
from l4strace.schema import TABLES
from l4strace.schema.capture import SOURCES, STATS
from l4strace.schema.words import Stat


def load(
    paths: Sequence[str],
    progress: Progress | None = None,
    companions: bool = True,
    digests: bool = True,
) -> Capture:
    """Reads everything that ``paths`` name, and logs and host files beside the captures.

    Without ``digests`` `sources.sha256` stays null.

    Raises InputError for a path that cannot be read or is neither capture nor log. A companion that
    nobody named is left out when it cannot be read; `stats` has why.
    """
    packets = tracked.track(paths, progress, companions, digests)
    inputs = packets.inputs
    capture = _with_keys(_tables(packets), packets.keys)
    hosts = [host_file.read(path) for path in inputs.hosts]
    if inputs.logs or inputs.logs_beside:
        from l4strace.ingest.join import attach

        capture = attach.load_logs(capture, inputs.logs, progress)
        for path in inputs.logs_beside:
            with _optional(capture) as left_out:
                capture = attach.load_logs(capture, [path], progress)
            capture = _with_stats(capture, left_out)
    for path in inputs.hosts_beside:
        with _optional(capture) as left_out:
            hosts.append(host_file.read(path))
        capture = _with_stats(capture, left_out)
    sources = capture.sources
    if digests:
        sources = with_digests(sources, packets.digests)
    named = controls.named(replace(capture, sources=sources, host_files=tuple(hosts)))
    return reported.measured(named)


@contextmanager
def _optional(capture: Capture) -> Iterator[list[dict[str, Any]]]:
    """Rows of `stats`: one when the companion that is read inside cannot be."""
    rows: list[dict[str, Any]] = []
    try:
        yield rows
    except InputError as error:
        why = f"{error}; left out."
        console.note(f"{why} --no-companions ignores files that were not named.")
        rows.append(
            {
                "source": capture.sources["source"][0],
                "name": Stat.COMPANION_UNREAD,
                "count": 1,
                "severity": "info",
                "detail": untrusted.text(why, 400),
            }
        )


def _with_stats(capture: Capture, rows: list[dict[str, Any]]) -> Capture:
    if not rows:
        return capture
    added = STATS.conform(pl.DataFrame(rows))
    return replace(capture, stats=pl.concat([capture.stats, added]))


def _with_keys(capture: Capture, opened: keys.Opened) -> Capture:
    """``capture`` with a source for each key log, and why keys opened nothing."""
    first = capture.sources.height
    rows = [
        {
            "source": first + number,
            "path": log.path,
            "kind": "keys",
            "compression": log.compression,
            "records": log.secrets,
            "bytes": log.bytes_read,
            "complete": log.error is None,
        }
        for number, log in enumerate(opened.logs)
    ]
    if rows:
        sources = pl.concat([capture.sources, SOURCES.conform(pl.DataFrame(rows))])
        capture = replace(capture, sources=sources)
    for source, why in opened.unused.items():
        console.note(f"{capture.sources['path'][source]}: {why}")
    counted = {"name": Stat.KEYS_UNUSED, "count": 1, "severity": "info"}
    stats = [{"source": source, **counted, "detail": why} for source, why in opened.unused.items()]
    return _with_stats(capture, stats)


def _tables(packets: Tracked) -> Capture:
    if not packets.tables:
        return _capture({})
    frames = translated.once({name: _frame(table) for name, table in packets.tables.items()})
    # The tracker's running estimate is for `watch`: the queue delay needs the whole run.
    frames["rounds"] = frames["rounds"].drop("queue_delay_us")
    shown = dict(enumerate(packets.inputs.captures))
    path = pl.col("source").cast(pl.Int64).replace_strict(shown, return_dtype=pl.String)
    frames["sources"] = frames["sources"].with_columns(path=path)
    capture = _capture(frames)
    flows = _placed(pl.concat([capture.flows, capture.udp_flows]))
    ours = pl.col("transport") == "tcp"
    sent = frames["udp_rounds"]
    return replace(
        capture,
        flows=flows.filter(ours),
        udp_flows=flows.filter(~ours),
        # Most columns of `rounds` need feedback, and would take ten times the memory.
        udp_rounds=TABLES["rounds"].conform(sent).select(sent.columns),
    )


def _frame(table: _native.ArrowTable) -> pl.DataFrame:
    """The rows of ``table``. Polars, too, keeps a number that all of them share only once."""
    varying, constants = pl.DataFrame(table.varying()), table.constants()
    if constants is None:
        return varying
    same = pl.DataFrame(constants)
    return varying.with_columns(
        pl.lit(column[0], dtype=column.dtype).alias(column.name) for column in same
    )


def _placed(flows: pl.DataFrame) -> pl.DataFrame:
    """Flows whose own handshake does not show where the capture stood, as their neighbors do.

    All flows between two hosts pass the capture at the same place; a final ACK that arrives after
    the first data hides the half of the path in one of them, and UDP has no handshake.
    """
    known = pl.col("vantage").filter(pl.col("vantage") != "unknown")
    agreed = pl.when(known.n_unique() == 1).then(known.first())
    mates = agreed.over("source", "client", "server")
    here = pl.when(pl.col("vantage") == "unknown").then(mates).otherwise("vantage")
    return flows.with_columns(pl.coalesce(here, "vantage").alias("vantage"))


def _capture(tables: dict[str, pl.DataFrame]) -> Capture:
    """The tables as declared; those that are not given are empty."""

    def table(name: str, kind: str = "") -> pl.DataFrame:
        declared = TABLES[name]
        made = tables.get(kind + name)
        return declared.empty() if made is None else declared.conform(made)

    return Capture(
        sources=table("sources"),
        flows=table("flows"),
        directions=table("directions"),
        rounds=table("rounds"),
        paths=table("paths"),
        kernel=table("kernel"),
        stats=table("stats"),
        qdiscs=table("qdiscs"),
        udp_flows=table("flows", "udp_"),
        udp_directions=table("directions", "udp_"),
        udp_round_trips=table("udp_round_trips"),
        udp_kernel=table("kernel"),
    )
