"""Several hosts that start together and come back as one run: STEM-NAME.pcapng and its logs."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from l4strace import console
from l4strace.capture import summary
from l4strace.capture.local import follow, signals_to
from l4strace.capture.progress import Live
from l4strace.capture.request import Request, check_free
from l4strace.capture.ssh import Host, parse
from l4strace.errors import CollectorError, UsageError

LINGER_S = 0.5
"""Seconds to record after the command ends, because the last packets are still in flight."""
HOST_BYTES = 10_000_000
"""Size from which a host file is refused: collectors write smaller ones."""
WAITING = 1000
"""Messages that may wait in the queue to the main thread."""
JOIN_S = 0.05
"""Between looks at what a listener that ends still reports."""
FETCH_S = 600.0
"""How long a host may take to stop and hand over its files."""


def capture(request: Request, targets: list[str], ssh: str, force: bool) -> int:
    """Records on all hosts; returns the exit code: the command's, 1 when a host was lost.

    A host that dies costs only what it had recorded. Raises CollectorError when one cannot begin:
    nothing is recorded then.
    """
    hosts = [parse(text, request.interfaces) for text in targets]
    check(hosts)
    stems = {h.name: request.stem.with_name(f"{request.stem.name}-{h.name}") for h in hosts}
    for stem in stems.values():
        check_free(stem, force)
    options = replace(request, duration_s=None)
    try:
        for host in hosts:
            host.begin(ssh, options.options(host.interfaces))
        for host in hosts:
            host.read_until("ready")
            host.compare_clock()
            say_clock(host)
        for host in hosts:
            host.order("start")
        run = Run(hosts, stems)
        try:
            run.watch(request)
        finally:
            end(hosts)
            run.join()
    finally:
        end(hosts)
    lost = run.report()
    code = run.command_exit or 0
    return (128 - code if code < 0 else code) or int(bool(lost))


def end(hosts: list[Host]) -> None:
    """Closes all connections; a second time changes nothing."""
    for host in hosts:
        host.end()


def check(hosts: list[Host]) -> None:
    """Raises UsageError for what cannot work."""
    names = [host.name for host in hosts]
    if len(set(names)) < len(names):
        raise UsageError("two hosts have the same name", "Name them: --host client=root@a")
    for host in hosts:
        if not host.interfaces:
            raise UsageError(f"{host.name}: no interface", "Use -i IF, or --host USER@HOST,IF.")


def say_clock(host: Host) -> None:
    """Shows how far the host's clock is from ours."""
    best = tightest(host.clock)
    offset, width = best["offset_ns"] / 1e6, best["uncertainty_ns"] / 1e6
    console.note(f"{host.name}: clock offset {offset:+.3f} ms (uncertainty {width:.3f} ms)")


def tightest(answers: list[dict[str, int]]) -> dict[str, int]:
    """The answer with the narrowest bracket."""
    return min(answers, key=lambda answer: answer["uncertainty_ns"])


class Run:
    """Hosts that record; one thread each listens, the main one decides."""

    def __init__(self, hosts: list[Host], stems: dict[str, Path]) -> None:
        self.hosts = hosts
        self.stems = stems
        self.done: dict[str, dict[str, Any]] = {}
        self.lost: dict[str, CollectorError] = {}
        self.ended = ""
        self.command_exit: int | None = None
        self._told: queue.Queue[tuple[str, dict[str, Any] | CollectorError]] = queue.Queue(WAITING)
        self._live = Live()
        self._listeners = [
            threading.Thread(target=self._listen, args=(host,), daemon=True) for host in hosts
        ]
        for listener in self._listeners:
            listener.start()

    def _listen(self, host: Host) -> None:
        """Passes on what one host reports, then fetches its files."""
        try:
            while "summary" not in (told := host.follow()):
                self._told.put((host.name, told))
            told["summary"]["files"] = host.fetch(self.stems[host.name])
            self._told.put((host.name, told))
        except CollectorError as error:
            self._told.put((host.name, error))
        except (OSError, ValueError, KeyError) as error:
            self._told.put((host.name, CollectorError(f"{host.name}: {error}")))

    def join(self) -> None:
        """Waits for the listeners after the hosts' end; drops what they still report.

        Each ends with its pipe, or after the silence that `Host.read` allows.
        """
        for listener in self._listeners:
            while listener.is_alive():
                with suppress(queue.Empty):
                    self._told.get_nowait()
                listener.join(JOIN_S)

    def watch(self, request: Request) -> None:
        """Waits for the command, the duration, Ctrl-C or the hosts' own end, then for the files."""
        asked: list[int] = []
        with signals_to(lambda number, _: asked.append(number)):
            command = start_command(request)
            deadline = None if request.duration_s is None else time.monotonic() + request.duration_s
            while self._open() and not asked:
                self._take(0.2)
                if command and command.poll() is not None:
                    time.sleep(LINGER_S)
                    self.ended = f"{request.command[0]} ended (exit code {command.returncode})"
                    break
                if deadline is not None and time.monotonic() > deadline:
                    self.ended = "the duration is over"
                    break
            if asked:
                self.ended = f"interrupted ({signal.Signals(asked[0]).name})"
            elif not self._open():
                self.ended = "no host records any more"
            if command and command.poll() is None and (asked or deadline is not None):
                command.terminate()
            for host in self.hosts:
                if host.name in self._open():
                    host.finish()
            deadline = time.monotonic() + FETCH_S
            while self._open() and time.monotonic() < deadline and len(asked) < 2:
                self._take(0.2)
            if command:
                self.command_exit = command.wait()
        self._live.clear()

    def _open(self) -> list[str]:
        return [h.name for h in self.hosts if h.name not in self.done and h.name not in self.lost]

    def _take(self, seconds: float) -> None:
        try:
            name, told = self._told.get(timeout=seconds)
        except queue.Empty:
            return
        if isinstance(told, CollectorError):
            self.lost[name] = told
            self._live.note(f"{told}")
        elif (last := follow(told, self._live, name)) is not None:
            if "summary" in last:
                self.done[name] = last["summary"]
            else:
                self.lost[name] = CollectorError(f"{name}: {last['cannot']}")

    def report(self) -> list[str]:
        """Shows what ended it, what each host recorded and what was lost; names of lost hosts."""
        console.note(f"stopped: {self.ended}")
        captures = []
        for host in self.hosts:
            if host.name in self.done:
                recorded = summary.packed(self.done[host.name])
                add_clock(host, self.stems[host.name])
                console.note(f"{host.name}: {summary.render(recorded)}")
                captures += summary.inputs(recorded)
            else:
                error = self.lost.get(host.name, CollectorError(f"{host.name}: timed out"))
                console.fail(str(error), error.hint)
        if captures:
            console.emit(summary.next_step(captures))
        return [host.name for host in self.hosts if host.name not in self.done]


def add_clock(host: Host, stem: Path) -> None:
    """Writes into the host file how far its clock was from the controller's, before and after."""
    path = stem.with_name(f"{stem.name}.host.json")
    try:
        # Not through a link that has come since the file was made.
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    with os.fdopen(handle, "r+b") as file:
        _add_clock(host, file)


def _add_clock(host: Host, file: BinaryIO) -> None:
    if os.fstat(file.fileno()).st_size > HOST_BYTES:
        return
    try:
        described = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return
    if not isinstance(described, dict) or not host.clock:
        return
    middle = len(host.clock) // 2
    described["clock_vs_controller"] = {
        "before": tightest(host.clock[:middle] or host.clock),
        "after": tightest(host.clock[middle:]),
    }
    file.seek(0)
    file.truncate()
    file.write(json.dumps(described, indent=1).encode() + b"\n")


def start_command(request: Request) -> subprocess.Popen[bytes] | None:
    """Runs the command on this host. Raises CollectorError if no program has that name."""
    if not request.command:
        return None
    try:
        return subprocess.Popen(request.command, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise CollectorError(f"{request.command[0]}: {error.strerror}") from error
