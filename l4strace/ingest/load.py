"""The files of one run -> Capture: packets tracked, logs joined, host files parsed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from l4strace import _native
from l4strace.errors import InputError
from l4strace.evidence import Capture
from l4strace.ingest import files
from l4strace.ingest.digest import with_digests
from l4strace.schema import TABLES

Progress = Callable[[int, int], None]


def load(paths: Sequence[str], progress: Progress | None = None) -> Capture:
    """Reads everything that ``paths`` name, and the logs beside the captures among them.

    Raises InputError for a path that cannot be read or is neither capture nor log.
    """
    inputs = files.of_run(paths)
    capture = _track(inputs.captures, progress) if inputs.captures else _capture({})
    if inputs.logs:
        from l4strace.ingest.join import attach

        capture = attach.load_logs(capture, inputs.logs, progress)
    return replace(
        capture,
        sources=with_digests(capture.sources),
        hosts=tuple(_host(path) for path in inputs.hosts),
    )


def _track(paths: list[str], progress: Progress | None) -> Capture:
    tables = _native.track(paths, progress)
    frames = {name: pl.DataFrame(table) for name, table in tables.items()}
    # The tracker's running estimate is for `watch`: the queue delay needs the whole run.
    frames["rounds"] = frames["rounds"].drop("queue_delay_us")
    frames["flows"] = _placed(frames["flows"])
    return _capture(frames)


def _placed(flows: pl.DataFrame) -> pl.DataFrame:
    """Flows whose own handshake does not show where the capture stood, as their neighbours do.

    All flows between two hosts pass the capture at the same place; a final ACK that arrives after
    the first data hides the half of the path in one of them.
    """
    known = pl.col("vantage").filter(pl.col("vantage") != "unknown")
    agreed = pl.when(known.n_unique() == 1).then(known.first())
    mates = agreed.over("source", "client", "server")
    here = pl.when(pl.col("vantage") == "unknown").then(mates).otherwise("vantage")
    return flows.with_columns(pl.coalesce(here, "vantage").alias("vantage"))


def _capture(tables: dict[str, pl.DataFrame]) -> Capture:
    """The tables as declared; those that are not given are empty."""

    def table(name: str) -> pl.DataFrame:
        declared = TABLES[name]
        return declared.conform(tables[name]) if name in tables else declared.empty()

    return Capture(
        sources=table("sources"),
        flows=table("flows"),
        directions=table("directions"),
        rounds=table("rounds"),
        paths=table("paths"),
        kernel=table("kernel"),
        stats=table("stats"),
    )


def _host(path: str) -> dict[str, Any]:
    """One parsed host file with its ``path``."""
    try:
        text = b"".join(_native.read_text(path))
        value = json.loads(text)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a host file ({error})") from error
    if not isinstance(value, dict):
        raise InputError(f"{path}: not a host file (no JSON object)")
    return value | {"path": path}
