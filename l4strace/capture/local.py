"""A recording on this host: runs the collector `record` and follows what it reports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from l4strace import installed
from l4strace.capture.messages import message
from l4strace.capture.progress import Live
from l4strace.capture.request import Request
from l4strace.errors import INTERRUPTED, CollectorError


def record(request: Request, live: Live) -> dict[str, Any]:
    """Records until the command, the duration or the user ends it; returns the summary.

    Raises CollectorError when it could not begin, or when the recorder itself was killed: what it
    had written by then is closed by its parts and stays; KeyboardInterrupt before it began.
    """
    read_end, write_end = os.pipe()
    command = [sys.executable, "-I", str(installed.path("collectors")), "record"]
    command += [
        f"--output={request.stem}",
        "--status-fd",
        str(write_end),
        "--with-parent",
        *request.options(),
    ]
    if request.command:
        command += ["--", *request.command]
    environment = os.environ | {"L4STRACE_PARENT": str(os.getpid())}
    process = subprocess.Popen(command, pass_fds=(write_end,), env=environment)
    os.close(write_end)
    last: dict[str, Any] = {}
    with passing_signals(process), os.fdopen(read_end, "rb") as lines:
        for line in lines:
            last = follow(message(line) or {}, live) or last
        code = process.wait()
    live.clear()
    if "cannot" in last:
        raise CollectorError(last["cannot"], last.get("remedy", ""))
    if "summary" not in last and code in (INTERRUPTED, -signal.SIGINT):
        raise KeyboardInterrupt
    if "summary" not in last:
        raise CollectorError(
            f"the recorder failed (exit code {code})",
            f"Diagnose what it recorded: l4strace diagnose {request.stem}.pcapng",
        )
    summary: dict[str, Any] = last["summary"]
    return summary


def follow(told: dict[str, Any], live: Live, name: str = "") -> dict[str, Any] | None:
    """Shows one line of a recorder; returns it if it is its last word."""
    if "status" in told:
        live.update(told["status"], name)
    if "told" in told:
        live.note(f"{name}: {told['told']}" if name else told["told"])
    return told if "summary" in told or "cannot" in told else None


@contextmanager
def passing_signals(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """While inside, Ctrl-C and SIGTERM end the recording, not us: the summary still follows.

    The terminal sends Ctrl-C to the recorder too; a second one does no harm.
    """

    def pass_on(number: int, _frame: object) -> None:
        if process.poll() is None:
            process.send_signal(number)

    before = {n: signal.signal(n, pass_on) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
