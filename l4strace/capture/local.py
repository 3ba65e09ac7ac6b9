"""A recording on this host: runs the collector `record` and follows what it reports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
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
    command = ("--", *request.command) if request.command else ()
    process = started(request, write_end, *command)
    last: dict[str, Any] = {}

    def pass_on(number: int, _frame: object) -> None:
        # The terminal sends Ctrl-C to the recorder too; a second one does no harm.
        if process.poll() is None:
            process.send_signal(number)

    with signals_to(pass_on), os.fdopen(read_end, "rb") as lines:
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


def started(request: Request, status: int, *more: str, **how: Any) -> subprocess.Popen[bytes]:
    """The collector `record`, which gets the descriptor ``status`` to report to."""
    collector = [sys.executable, "-I", str(installed.path("collectors")), "record"]
    options = [f"--output={request.stem}", "--status-fd", str(status), "--with-parent"]
    process = subprocess.Popen(
        [*collector, *options, *request.options(), *more],
        pass_fds=(status,),
        env=os.environ | {"L4STRACE_PARENT": str(os.getpid())},
        **how,
    )
    os.close(status)
    return process


def follow(told: dict[str, Any], live: Live, name: str = "") -> dict[str, Any] | None:
    """Shows one line of a recorder; returns it if it is its last word."""
    if "status" in told:
        live.update(told["status"], name)
    if "told" in told:
        live.note(f"{name}: {told['told']}" if name else told["told"])
    return told if "summary" in told or "cannot" in told else None


@contextmanager
def signals_to(handler: Callable[[int, object], object]) -> Iterator[None]:
    """While inside, Ctrl-C and SIGTERM end nothing here: ``handler`` gets them."""
    before = {n: signal.signal(n, handler) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
