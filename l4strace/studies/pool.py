"""Runs measured on all cores, each under limits of time and memory."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path

from l4strace.studies.planned import Limits, Options, Page, Planned, Result, failed
from l4strace.wording.quantities import quantity

POLL_S = 0.1
"""How often time and memory of the workers are looked at: a process that reads a capture grows by
some 100 MB in that time."""
START_S = 120.0
"""A new worker imports for a second, and longer on a machine that is busy."""
RUNS_OF_A_WORKER = 200
"""Runs after which a worker is replaced, because allocators return little memory."""
WORN_BYTES = 220_000_000
"""Memory between two runs above which a worker is replaced: imports take 50 MB, a run 100 to
200."""
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

Results = Generator[Result, None, None]
Pages = Callable[[Planned], Page | None]
Measure = Callable[[Sequence[Planned], Options, Limits, Pages], Results]
"""How runs are measured: here on all cores, or elsewhere."""


class Worker:
    """One child process (`worker.main`), and the run that it is busy with."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        # The child shall import what this process imports, and nothing from the current folder.
        start = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"from l4strace.studies.worker import main; main({theirs.fileno()})"
        )
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `stop`
        self._process = subprocess.Popen(
            [sys.executable, "-c", start],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            # One core per worker: there are as many workers as cores.
            env={**os.environ, "POLARS_MAX_THREADS": "1"},
        )
        theirs.close()
        self.connection = Connection(ours.detach())
        self.planned: Planned | None = None
        self._since = 0.0
        self._most: float | None = START_S
        self.runs = 0

    def start(self, planned: Planned, options: Options, page: Page | None) -> None:
        """Begins with one run; that the process is gone shows in its answer."""
        self.planned, self._since = planned, time.monotonic()
        self.runs += 1
        with suppress(OSError):
            self.connection.send((planned, options, page))

    def answer(self) -> Result | None:
        """The result of the run, or null when the process reports that it is ready.

        A process that died in a run is a result, too.
        """
        assert self.planned is not None  # noqa: S101 - a worker without a run is not asked
        try:
            message = self.connection.recv()
        except (EOFError, OSError):
            message = self._death(self.planned)
        if not isinstance(message, Result):
            self._since, self._most = time.monotonic(), None
            return None
        self.planned = None
        return message

    def over(self, limits: Limits) -> Result | None:
        """The result of a run that exceeds a limit, which ends the process; else null."""
        planned = self.planned
        if planned is None:
            return None
        seconds = self._most or limits.seconds
        if time.monotonic() - self._since > seconds:
            status, error = "timeout", f"not done within {quantity(seconds, 's')}"
        elif self.resident_bytes() > limits.memory_bytes:
            limit = quantity(limits.memory_bytes, "byte")
            status, error = "memory", f"needs more than {limit} of memory"
        else:
            return None
        self.planned = None
        self.stop()
        return failed(planned, status, error)

    @property
    def alive(self) -> bool:
        """Whether the worker can take another run."""
        return self._process.poll() is None and not self.connection.closed

    def stop(self) -> None:
        """Ends the process, whatever it does."""
        self.connection.close()
        self._process.kill()
        self._process.wait()
        self._errors.close()

    def resident_bytes(self) -> int:
        """Memory that the process holds now; 0 when it is gone."""
        try:
            fields = Path(f"/proc/{self._process.pid}/statm").read_text().split()
        except OSError:
            return 0
        return int(fields[1]) * PAGE_BYTES

    def _death(self, planned: Planned) -> Result:
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        last = lines[-1][:300] if lines else ""
        if code == -signal.SIGKILL or "memory" in last.lower():
            return failed(planned, "memory", "its process ran out of memory")
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return failed(planned, "died", f"its process died ({how}) {last}".strip())


def measure_all(
    planned: Iterable[Planned],
    options: Options,
    limits: Limits,
    workers: int,
    page: Pages = lambda _: None,
) -> Results:
    """The result of every run, as they come; all processes end with the iterator."""
    waiting = deque(planned)
    pool: list[Worker] = []
    try:
        while waiting or any(worker.planned for worker in pool):
            pool = [worker for worker in pool if _usable(worker)]
            while waiting and len(pool) < workers:
                pool.append(Worker())
            for worker in pool:
                if worker.planned is None and waiting:
                    run = waiting.popleft()
                    worker.start(run, options, page(run))
            for worker, run, result in _step(pool, limits):
                if not _of_others(worker, result):
                    yield result
                    continue
                worker.stop()
                pool.append(fresh := Worker())
                fresh.start(run, options, page(run))
    finally:
        for worker in pool:
            worker.stop()


def _of_others(worker: Worker, result: Result) -> bool:
    """Whether memory ended a run in a process that may have held that of earlier runs.

    What a run is must not depend on those before it: it is done again, in a new process.
    """
    return result.run["status"] == "memory" and worker.runs > 1


def _usable(worker: Worker) -> bool:
    """False ends a worker that died or is worn out."""
    if worker.planned is not None:
        return True
    worn = worker.runs >= RUNS_OF_A_WORKER or worker.resident_bytes() > WORN_BYTES
    if worker.alive and not worn:
        return True
    worker.stop()
    return False


def _step(pool: list[Worker], limits: Limits) -> Iterator[tuple[Worker, Planned, Result]]:
    """What is done within one poll, and who exceeded a limit."""
    busy = {worker.connection: (worker, worker.planned) for worker in pool if worker.planned}
    ready = wait(list(busy), POLL_S)
    for connection, (worker, run) in busy.items():
        if connection in ready and (result := worker.answer()) is not None:
            yield worker, run, result
    for worker, run in busy.values():
        if (result := worker.over(limits)) is not None:
            yield worker, run, result


_own = threading.local()


def one(planned: Planned, options: Options, limits: Limits, page: Page | None = None) -> Result:
    """One run under limits in a child process: the task that a cluster runs.

    Each thread keeps its process for the next run; it ends with this one.
    """
    worker: Worker | None = getattr(_own, "worker", None)
    if worker is None or not _usable(worker):
        worker = _own.worker = Worker()
    worker.start(planned, options, page)
    while True:
        for _, _, result in _step([worker], limits):
            if not _of_others(worker, result):
                return result
            worker.stop()
            worker = _own.worker = Worker()
            worker.start(planned, options, page)


def on_cores(workers: int) -> Measure:
    """`measure_all` with at most ``workers`` processes, as a sweep calls it."""
    return lambda todo, options, limits, page: measure_all(
        todo, options, limits, min(workers, len(todo)), page
    )
