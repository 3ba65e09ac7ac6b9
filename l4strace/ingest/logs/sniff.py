"""Which dialect a log is in, from its first bytes."""

from __future__ import annotations

import re
from collections.abc import Callable

from l4strace.errors import InputError
from l4strace.ingest.logs import (
    bpftrace,
    flent,
    kernel_log,
    printed,
    qlog,
    scream,
    ss,
    tc,
    trace_events,
    udp_prague,
)
from l4strace.ingest.logs.samples import Log

EVENT_LINE = re.compile(rb"^[^\n]*\[\d+\][^\n]*\s\d+\.\d{6,9}: +[\w:.]+:(?=\s)", re.MULTILINE)
"""`comm-pid [cpu] flags seconds.micros: event:` of tracefs, trace-cmd report and perf script."""

SS_LINE = re.compile(rb"^(?:[\d.]+ +)?(?:tcp +)?[A-Z][A-Z0-9-]+ +\d+ +\d+ +\S+:\d+ +\S+:\d+", re.M)
"""`ESTAB 0 0 10.0.1.2:40001 10.0.3.2:5201`."""
QDISC_LINE = re.compile(
    rb"^qdisc [a-z]\w* [0-9a-f]+: |^\s*\[\s*\{\s*\"kind\"\s*:\s*\"\w+\",\s*\"handle\"", re.M
)
"""`qdisc fq_codel 0: dev eth0 root ...`, or the same in JSON."""
JSON_KINDS: tuple[tuple[re.Pattern[bytes], Callable[[str], Log]], ...] = (
    (re.compile(rb'\A\s*\{[^\n]*"format"\s*:\s*"l4strace-kernel-log"'), kernel_log.read),
    (
        re.compile(rb'\A\s*\{"type"\s*:\s*"[a-z_]+",\s*("count"\s*:\s*\d+,\s*)?"data"\s*:'),
        bpftrace.read,
    ),
    (re.compile(rb'\A\s*\{\s*"metadata"\s*:\s*\{'), flent.read),
    (udp_prague.JSON_BEGINS, udp_prague.read_json),
    (qlog.BEGINS, qlog.read),
)
"""First bytes of the first object of each JSON dialect."""


PRINTED: tuple[tuple[re.Pattern[bytes], Callable[[str], Log]], ...] = (
    (printed.SIFTR_BEGINS, printed.read_siftr),
    (printed.PROBE_BEGINS, printed.read_tcpprobe),
    (scream.BEGINS, scream.read),
    (scream.TRANSMITTED_BEGINS, scream.read_transmitted),
    (udp_prague.BEGINS, udp_prague.read),
    (printed.TEXT_BEGINS, printed.read_bpftrace),
)


def reader(path: str, head: bytes) -> Callable[[str], Log]:
    """The importer for a log that begins with ``head`` (decompressed).

    Raises InputError when it is in no dialect that l4strace reads.
    """
    for pattern, importer in JSON_KINDS:
        if pattern.search(head):
            return importer
    if QDISC_LINE.search(head):
        return tc.read
    if SS_LINE.search(head):
        return ss.read
    if EVENT_LINE.search(head) or head.startswith(b"# tracer:"):
        return trace_events.read
    for pattern, importer in PRINTED:
        if pattern.search(head):
            return importer
    raise InputError(
        f"{path}: neither a capture nor a log that l4strace can read",
        "Logs: tracefs, perf, bpftrace, ss, tc, flent, siftr, qlog, UDP Prague, SCReAM.",
    )
