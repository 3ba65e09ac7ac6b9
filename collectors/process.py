"""How a collector lives: when to stop, and the JSON lines on stderr that its caller reads."""

import ctypes
import json
import os
import select
import signal
import time

PR_SET_PDEATHSIG = 1
PARENT = "L4STRACE_PARENT"
"""Environment variable that names the process which started a collector with --with-parent."""


class Stop:
    """Why and whether to stop: a signal, a deadline, the reader's or the parent's death."""

    def __init__(self, duration=None, with_parent=False):
        self.reason = None
        self.deadline = None if duration is None else time.monotonic() + duration
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        # Not for those that we start: each has a parent of its own.
        parent = os.environ.pop(PARENT, None) or os.getppid()
        if with_parent:
            follow_parent(int(parent))

    def _on_signal(self, _number, _frame):
        self.reason = self.reason or "signal"
        try:
            os.write(self._wake_write, b"x")
        except OSError:
            pass

    def __bool__(self):
        if self.reason is None and self.deadline is not None and time.monotonic() >= self.deadline:
            self.reason = "duration"
        return self.reason is not None

    def sleep(self, seconds, extra=()):
        """Sleep up to `seconds`, less if stopped or if a file of `extra` becomes readable."""
        if self.deadline is not None:
            seconds = min(seconds, max(0.0, self.deadline - time.monotonic()))
        if self.reason is None:
            select.select([self._wake_read, *extra], [], [], seconds)


def follow_parent(parent):
    """Ask the kernel for SIGTERM when the parent dies, so that `kill -9` of it leaves nothing.

    `parent` is the id that it had when it started us: it may be gone before we come to ask.
    """
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def began(pid):
    """Return when a process began (ticks since boot), None if it has ended.

    A killed one stays as a zombie until its parent asks for it, which the first process of a
    container may never do.
    """
    try:
        with open("/proc/%d/stat" % pid) as file:
            state, *fields = file.read().rpartition(") ")[2].split()
    except OSError:
        return None
    return None if state in "ZX" else int(fields[18])


def child_environment():
    """Return the environment of a child that is to end with us."""
    return dict(os.environ, **{PARENT: str(os.getpid())})


def tell(record):
    """Write one JSON line to stderr; a reader that went away is no reason to fail."""
    try:
        os.write(2, json.dumps(record).encode() + b"\n")
    except OSError:
        pass


def cannot(reason, remedy=""):
    """End this collector before it began: it cannot run here."""
    tell({"cannot": reason, "remedy": remedy})
    raise SystemExit(4)
