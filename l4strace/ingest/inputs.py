"""Which files make one run: captures, kernel logs and host files, told apart by content."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from l4strace import _native
from l4strace.errors import InputError
from l4strace.evidence import Capture
from l4strace.ingest.digest import with_digests
from l4strace.schema import TABLES

Progress = Callable[[int, int], None]

COMPRESSIONS = (".gz", ".xz", ".zst")
CAPTURES = (".pcap", ".pcapng", ".cap", ".dump", ".ntar")
LOGS_BESIDE = (".kernel.ndjson", ".trace.txt", ".bpftrace.json", ".ss.txt")
"""Endings of logs that belong to a capture with the same stem."""
HOST_BESIDE = ".host.json"

CAPTURE_MAGICS = {
    bytes.fromhex(magic)
    for magic in (
        "a1b2c3d4",  # classic pcap, microseconds
        "d4c3b2a1",
        "a1b23c4d",  # nanoseconds
        "4d3cb2a1",
        "a1b2cd34",  # modified (Kuznetzov)
        "34cdb2a1",
        "0a0d0d0a",  # pcapng section header
    )
}


def stem(path: str) -> str:
    """The name of a run: `dir/run.pcapng.zst` -> `run`; standard input is called `stdin`."""
    if path == "-":
        return "stdin"
    name = Path(path).name
    for ending in (*COMPRESSIONS, *CAPTURES, *LOGS_BESIDE, HOST_BESIDE):
        name = name.removesuffix(ending) or name
    return name


def load(paths: Sequence[str], progress: Progress | None = None) -> Capture:
    """Reads everything that ``paths`` name, and the logs beside the captures among them.

    Raises InputError for a path that cannot be read or is neither capture nor log.
    """
    captures, logs, hosts = _sorted_out(paths)
    capture = _track(captures, progress) if captures else _capture({})
    if logs:
        from l4strace.ingest import logs as kernel_logs

        capture = kernel_logs.load_logs(capture, logs, progress)
    return replace(
        capture,
        sources=with_digests(capture.sources),
        hosts=tuple(_host(path) for path in hosts),
    )


def _sorted_out(paths: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    captures: list[str] = []
    logs: list[str] = []
    hosts: list[str] = []
    for path in dict.fromkeys(paths):
        kind = _kind(path)
        (captures if kind == "capture" else hosts if kind == "host" else logs).append(path)
    for path in captures:
        logs += [p for p in _beside(path, LOGS_BESIDE) if not _named(p, logs)]
        hosts += [p for p in _beside(path, (HOST_BESIDE,)) if not _named(p, hosts)]
    return captures, logs, hosts


def _named(path: str, paths: list[str]) -> bool:
    return any(p != "-" and Path(p).resolve() == Path(path).resolve() for p in paths)


def _beside(capture: str, endings: tuple[str, ...]) -> list[str]:
    """Files in the capture's folder with its stem and one of ``endings``, compressed or not."""
    if capture == "-":
        return []
    base = Path(capture).parent / stem(capture)
    names = [f"{base}{ending}{packed}" for ending in endings for packed in ("", *COMPRESSIONS)]
    return [name for name in names if Path(name).is_file()]


def _kind(path: str) -> str:
    """`capture`, `host` or `log`. A pipe is a capture: it can be read only once."""
    if path == "-" or Path(path).is_fifo():
        return "capture"
    head = _head(path)
    if head[:4] in CAPTURE_MAGICS or not head:
        return "capture"
    if head.lstrip()[:1] == b"{" and b'"l4strace-host"' in head[:4096]:
        return "host"
    return "log"


def _head(path: str) -> bytes:
    """The first decompressed bytes."""
    if Path(path).is_dir():
        raise InputError(f"{path}: is a folder", "Name the captures in it.")
    try:
        with Path(path).open("rb"):
            pass
        return next(_native.read_text(path), b"")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _track(paths: list[str], progress: Progress | None) -> Capture:
    tables = _native.track(paths, progress)
    return _capture({name: pl.DataFrame(table) for name, table in tables.items()})


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
