"""Diagnose L4S, TCP Prague and Accurate ECN from captures and kernel logs.

import l4strace
run = l4strace.open("run.pcap")
run.rounds      # a polars frame, like every table
run.findings    # likewise
run.figures()   # plotly figures by name
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from l4strace.errors import CollectorError, InputError, L4straceError, UsageError

if TYPE_CHECKING:
    from l4strace.run import Run

__all__ = ["CollectorError", "InputError", "L4straceError", "UsageError", "open"]


def open(*paths: str | PathLike[str]) -> Run:  # noqa: A001 - read as l4strace.open
    """Reads and judges one run: captures, kernel logs and host files, identified by content.

    Logs beside a capture with the same stem are found by themselves. Raises InputError for a file
    that cannot be read. polars and the native core load here, not with the package.
    """
    from l4strace.run import open_run

    return open_run([str(path) for path in paths])
