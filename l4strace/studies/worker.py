"""A child process that measures runs one after the other, as its parent asks over a socket.

A capture that hangs or eats memory takes this process with it, never the sweep.
"""

from __future__ import annotations

import ctypes
import os
import signal
import warnings
from collections.abc import Sequence
from multiprocessing.connection import Connection

from l4strace import console, resources
from l4strace.errors import L4straceError, reason
from l4strace.studies import places
from l4strace.studies.measuring import one_run
from l4strace.studies.planned import Options, Page, Planned, Result, failed, row

READY = "ready"
"""First message to the parent: everything is imported, the time of a run begins."""
PR_SET_PDEATHSIG = 1
"""prctl(2): the signal that this process gets when its parent ends, however it ends."""


def main(descriptor: int) -> None:
    """Answers (run, options, page) with a Result, until the parent hangs up."""
    settle()
    with Connection(descriptor) as parent:
        parent.send(READY)
        while True:
            try:
                planned, options, page = parent.recv()
            except (EOFError, OSError):
                # Without the destructors of native libraries: there is nothing to save.
                os._exit(0)
            parent.send(answer(planned, options, page))


def settle() -> None:
    """Makes this process one of many: it ends with its parent, is silent, and has one thread."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # The parent decides what an interrupt means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    console.configure(console.Settings(quiet=True))
    warnings.simplefilter("ignore")
    resources.limit_threads(1)


def answer(planned: Planned, options: Options, page: Page | None = None) -> Result:
    """The result of one run; what goes wrong with it is its row."""
    files = planned.files
    try:
        with places.fetched(planned.files) as files:
            local = Planned(planned.name, files, planned.parameters)
            result = one_run.measure(local, options, page)
        result.run |= row(planned)
        return result
    except MemoryError:
        return failed(planned, "memory", "out of memory")
    except L4straceError as error:
        return failed(planned, "failed", _named(str(error), planned.files, files))
    except BaseException as error:
        # A panic of native code is not an Exception, so that nobody takes it for one of Python's.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        why = f"{type(error).__name__}: {reason(error)}: please report this"
        return failed(planned, "failed", why)


def _named(message: str, names: Sequence[str], copies: Sequence[str]) -> str:
    """``message`` with the names that the user gave, in place of those of local copies."""
    for name, copy in zip(names, copies, strict=True):
        message = message.replace(copy, name)
    return message
