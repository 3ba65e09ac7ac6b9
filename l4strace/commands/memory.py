"""Out of memory is one line and exit code 3, also where the native libraries abort.

Rust ends a process whose allocation fails (SIGABRT), and a control group kills it (SIGKILL). Under
a memory limit the work is therefore done by a child process, and this one reports how that ended.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from l4strace import console

EXIT_CODE = 3
HINT = "Diagnose fewer or smaller inputs at once, or raise the limit."
MESSAGE = f"error: out of memory\n{HINT}\n".encode()
GUARDED = ("diagnose", "export", "flows", "verify")
"""Commands that hold no terminal and start no recorder."""
ALLOCATION = 512 << 20
"""A child that was this near to the limit failed because of it: the largest table of a long run."""
ALLOCATOR_LINE = b"<jemalloc>"
GROUPS = Path("/sys/fs/cgroup")


def guard() -> None:
    """Returns in the process that does the work; its parent waits, reports and exits."""
    limit = _limit()
    if limit is None or not any(word in GUARDED for word in sys.argv[1:]):
        return
    output = os.memfd_create("stderr")
    child = os.fork()
    if child:
        _report(child, output, limit)
    # What native libraries print as they die goes to the parent, what Python prints to the user.
    sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, errors="backslashreplace")
    os.dup2(output, 2)
    warnings.simplefilter("ignore")
    import logging

    # hashlib logs a traceback for each hash whose library does not fit any more.
    logging.disable()


def starved() -> bool:
    """Whether this process failed for lack of memory: it was close to its limit."""
    limit = _limit()
    if limit is None:
        return False
    status = Path("/proc/self/status").read_text()
    peak_kb = int(status.partition("VmPeak:")[2].split()[0])
    return (peak_kb << 10) + ALLOCATION > limit


def give_up() -> NoReturn:
    """Prints one line and exits, without allocating memory."""
    with suppress(OSError):
        os.write(sys.stderr.fileno(), MESSAGE)
    os._exit(EXIT_CODE)


def _report(child: int, output: int, limit: int) -> None:
    def forward(number: int, _: FrameType | None) -> None:
        os.kill(child, number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, forward)
    # A terminal interrupts both.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code in (-signal.SIGABRT, -signal.SIGKILL):
        console.fail(f"out of memory (limit {limit >> 20:,} MB)", HINT)
        os._exit(EXIT_CODE)
    _repeat(output)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _repeat(output: int) -> None:
    """Prints what the child's libraries printed, but for the allocator's complaints."""
    os.lseek(output, 0, os.SEEK_SET)
    with os.fdopen(output, "rb") as file:
        lines = [line for line in file if not line.startswith(ALLOCATOR_LINE)]
    os.write(2, b"".join(lines))


def _limit() -> int | None:
    """Bytes of memory that this process may have; null when there is no limit."""
    soft = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    limits = [limit for limit in soft if limit != resource.RLIM_INFINITY] + _of_groups()
    return min(limits, default=None)


def _of_groups() -> list[int]:
    """Limits of the control group (version 2) and those above it."""
    try:
        own = Path("/proc/self/cgroup").read_text().rpartition("0::")[2].strip().lstrip("/")
        folders = [GROUPS / own, *(GROUPS / own).parents]
        texts = [
            (folder / "memory.max").read_text().strip()
            for folder in folders
            if folder.is_relative_to(GROUPS) and (folder / "memory.max").exists()
        ]
    except OSError:
        return []
    return [int(text) for text in texts if text.isdigit()]
