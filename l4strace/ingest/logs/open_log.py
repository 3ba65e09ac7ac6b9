"""One log in whatever dialect it is, with the clock that a `clock.txt` beside it states."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from l4strace import _native
from l4strace.errors import InputError
from l4strace.ingest import files
from l4strace.ingest.logs import sniff
from l4strace.ingest.logs.samples import Log

STATED = re.compile(r"realtime_minus_monotonic_ns\s+(-?\d+)(?:\s+uncertainty_ns\s+(\d+))?")


def read(path: str) -> Log:
    """Reads one log in whatever dialect it is."""
    try:
        log = sniff.reader(path, _head(path))(path)
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: {error}") from error
    take_stated_clock(log)
    return log


def _head(path: str) -> bytes:
    """The first 64 KiB, decompressed."""
    head = b""
    for chunk in _native.read_text(path):
        head += chunk
        if len(head) >= 1 << 16:
            break
    return head


def take_stated_clock(log: Log) -> None:
    """Takes the offset from a `clock.txt` beside the log, if the log itself has none."""
    if log.unix_offset_ns is not None or log.path == "-":
        return
    folder = Path(log.path).parent
    for path in (folder / f"{files.stem(log.path)}.clock.txt", folder / "clock.txt"):
        try:
            found = STATED.search(path.read_text(errors="replace")[:4096])
        except OSError:
            continue
        if found:
            log.clock = "monotonic"
            log.unix_offset_ns = int(found[1])
            log.uncertainty_ns = int(found[2] or 0)
            return
