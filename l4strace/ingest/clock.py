"""One clock for the run: the captures' Unix time.

A log brings the offset of its clock in its header, or a `clock.txt` beside it does
(`realtime_minus_monotonic_ns N uncertainty_ns M`). Where captures show the same sockets, the
acknowledgement numbers of packets and the snd_una of samples are matched: that gives the offset
when nobody states it, and checks it when somebody does.
"""

from __future__ import annotations

import re
from pathlib import Path

from l4strace.ingest.samples import Log

STATED = re.compile(r"realtime_minus_monotonic_ns\s+(-?\d+)(?:\s+uncertainty_ns\s+(\d+))?")
STEP_NS = 10_000_000
"""More than this within one run is a clock that was set: drift is below 1e-4, 10 ms in 100 s."""


def beside(log: Log) -> None:
    """Takes the offset from a `clock.txt` in the log's folder, if the log itself has none."""
    if log.unix_offset_ns is not None or log.path == "-":
        return
    path = Path(log.path).parent / "clock.txt"
    try:
        found = STATED.search(path.read_text(errors="replace")[:4096])
    except OSError:
        return
    if found:
        log.clock = "monotonic"
        log.unix_offset_ns = int(found[1])
        log.uncertainty_ns = int(found[2] or 0)


def stepped(log: Log) -> bool:
    """Whether a clock was set: the offsets at the log's ends differ by more than drift."""
    if log.unix_offset_ns is None or log.end_offset_ns is None:
        return False
    return abs(log.end_offset_ns - log.unix_offset_ns) > STEP_NS
