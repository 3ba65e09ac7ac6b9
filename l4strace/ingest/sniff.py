"""Which dialect a log is in, told from its first bytes."""

from __future__ import annotations

import re
from collections.abc import Callable

from l4strace.errors import InputError
from l4strace.ingest import trace_events
from l4strace.ingest.samples import Log

EVENT_LINE = re.compile(rb"^[^\n]*\[\d+\][^\n]*\s\d+\.\d{6,9}: +[\w:.]+:(?=\s)", re.MULTILINE)
"""`comm-pid [cpu] flags seconds.micros: event:` of tracefs, trace-cmd report and perf script."""


def reader(path: str, head: bytes) -> Callable[[str], Log]:
    """The importer for a log that begins with ``head`` (decompressed).

    Raises InputError when it is in no dialect that l4strace reads.
    """
    if EVENT_LINE.search(head) or head.startswith(b"# tracer:"):
        return trace_events.read
    raise InputError(
        f"{path}: neither a capture nor a kernel log that l4strace can read",
        "Logs: l4strace's own, tracefs, trace-cmd report, perf script, bpftrace, ss, flent.",
    )
