"""One host at the other end of ssh: sends the collectors, gives orders, fetches the files.

Nothing is installed there: the zipapp lies in a temporary folder that goes when the run is over.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from l4strace.capture.bundle import zipapp
from l4strace.capture.messages import MessageError, message
from l4strace.capture.request import ENDINGS, check_interfaces
from l4strace.errors import CollectorError, UsageError

BOOTSTRAP = """
import os,sys,tempfile
def take(n):
    data=b""
    while len(data)<n:
        part=os.read(0,n-len(data))
        if not part: sys.exit(6)
        data+=part
    return data
d=tempfile.mkdtemp(prefix="l4strace-")
p=os.path.join(d,"collectors.pyz")
size=int(take(12))
with open(p,"wb") as f: f.write(take(size))
print('{"folder": "%s"}'%d,flush=True)
os.execv(sys.executable,[sys.executable,"-I",p,"serve",d]+sys.argv[1:])
"""
"""Reads its twelve digits and the zipapp from stdin, byte by byte exact, then becomes it.

Run in isolated mode: no module of the folder that it starts in, or of the user's, is imported.
"""
OPTIONS = ("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", "-o", "ConnectTimeout=15")
CLOCK_ROUNDS = 9
PYTHON = "python3"
CHUNK = 1 << 16
LINE_BYTES = 1 << 20
"""Bytes of the longest message that is accepted."""
BANNER_LINES = 1000
"""Consecutive lines without a message (login banners) that are skipped at most."""
SEND_S, SILENCE_S, START_S, END_S = 30.0, 60.0, 300.0, 15.0
"""A recorder reports its status each second; before it is ready, BCC may compile for minutes."""
ERROR_BYTES = 4096


@dataclass
class Host:
    """A host to record on: `NAME=USER@HOST,IF`; `local` is this one."""

    name: str
    target: str
    interfaces: tuple[str, ...]
    process: subprocess.Popen[bytes] | None = None
    folder: str = ""
    clock: list[dict[str, int]] = field(default_factory=list)
    asked_ns: int = 0
    questions: int = 0
    held: bytes = b""
    errors: bytes = b""
    _listener: threading.Thread = field(default_factory=threading.Thread)

    def begin(self, ssh: str, options: list[str]) -> None:
        """Starts the recorder there; `read` then yields what it reports."""
        if self.target == "local":
            command = [sys.executable, "-I", "-c", BOOTSTRAP, *options]
        else:
            batch = () if sys.stdin.isatty() else ("-o", "BatchMode=yes")
            remote = shlex.join([PYTHON, "-I", "-c", BOOTSTRAP, *options])
            # `--`: a target that begins with - is no option.
            command = [*shlex.split(ssh), *OPTIONS, *batch, "--", self.target, remote]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=self.target == "local",
            bufsize=0,
        )
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
        self._listener = threading.Thread(target=self._keep_errors, daemon=True)
        self._listener.start()
        archive = zipapp()
        self._send(b"%012d" % len(archive) + archive)

    def _keep_errors(self) -> None:
        """Reads what ssh prints, so that its pipe never fills, and keeps the end."""
        stderr = self.running.stderr
        while stderr is not None and (chunk := stderr.read(CHUNK)):
            self.errors = (self.errors + chunk)[-ERROR_BYTES:]

    def _send(self, data: bytes) -> None:
        stdin = self.running.stdin
        deadline = time.monotonic() + SEND_S
        with contextlib.suppress(OSError, ValueError):  # it is gone: `read` reports that
            while stdin is not None and data:
                if time.monotonic() > deadline:
                    raise CollectorError(f"{self.name}: accepts no input", self.hint())
                select.select([], [stdin], [], 1.0)
                with contextlib.suppress(BlockingIOError):
                    data = data[os.write(stdin.fileno(), data) :]

    def order(self, word: str) -> None:
        """Sends one order."""
        self._send(word.encode() + b"\n")

    @property
    def running(self) -> subprocess.Popen[bytes]:
        """The connection. Raises CollectorError before `begin`."""
        if self.process is None:
            raise CollectorError(f"{self.name}: not connected")
        return self.process

    def _receive(self, seconds: float) -> None:
        """Takes in what has come. Raises CollectorError after silence, or when it ended."""
        stdout = self.running.stdout
        if stdout is None or not select.select([stdout], [], [], seconds)[0]:
            raise CollectorError(f"{self.name}: no data for {seconds:.0f} s", self.hint())
        try:
            chunk = os.read(stdout.fileno(), CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            raise CollectorError(f"{self.name}: {self.why()}", self.hint())
        self.held += chunk

    def _line(self, deadline: float) -> bytes:
        while (end := self.held.find(b"\n")) < 0:
            if len(self.held) > LINE_BYTES:
                raise CollectorError(f"{self.name}: sends a line longer than {LINE_BYTES} bytes")
            self._receive(max(0.0, deadline - time.monotonic()))
        line, self.held = self.held[:end], self.held[end + 1 :]
        return bytes(line)

    def read(self, seconds: float = SILENCE_S) -> dict[str, Any]:
        """The recorder's next message.

        Raises CollectorError when the connection is gone or silent, or the message is malformed.
        """
        deadline = time.monotonic() + seconds
        for _ in range(BANNER_LINES):
            try:
                told = message(self._line(deadline))
            except MessageError as error:
                raise CollectorError(f"{self.name}: malformed message: {error}") from None
            if told is not None:
                return told
        raise CollectorError(f"{self.name}: sends no messages, but {BANNER_LINES} other lines")

    def read_until(self, *keys: str) -> dict[str, Any]:
        """The next message that has one of ``keys``. Raises CollectorError for `cannot`."""
        deadline = time.monotonic() + START_S
        while True:
            told = self.read(max(0.0, deadline - time.monotonic()))
            self.folder = told.get("folder", self.folder)
            if "cannot" in told:
                raise CollectorError(f"{self.name}: {told['cannot']}", told.get("remedy", ""))
            if any(key in told for key in keys):
                return told

    def compare_clock(self) -> None:
        """Asks for the host's Unix time and brackets it with ours, several times."""
        for _ in range(CLOCK_ROUNDS):
            self.ask_clock()
            self.take_clock(self.read_until("clock"))

    def ask_clock(self) -> None:
        """Sends one question for the time."""
        self.asked_ns = time.time_ns()
        self.order("clock")

    def take_clock(self, told: dict[str, Any]) -> None:
        """Keeps one answer: how far the host's clock is ahead of ours, and how sure that is."""
        if len(self.clock) > 4 * CLOCK_ROUNDS:
            raise CollectorError(f"{self.name}: sends times that nobody asked for")
        now = time.time_ns()
        half = (now - self.asked_ns) // 2
        offset = int(told["clock"]) - self.asked_ns - half
        self.clock.append({"at_ns": now, "offset_ns": offset, "uncertainty_ns": half})

    def finish(self) -> None:
        """Compares the clocks again, then stops the recorder: `follow` carries it on."""
        self.questions = CLOCK_ROUNDS
        self.ask_clock()

    def follow(self) -> dict[str, Any]:
        """The recorder's next line that is not about the clock."""
        while "clock" in (told := self.read()):
            self.take_clock(told)
            self.questions -= 1
            if self.questions > 0:
                self.ask_clock()
            else:
                self.order("stop")
        return told

    def fetch(self, stem: Path) -> dict[str, int]:
        """Writes the files that follow the summary; returns their sizes."""
        files: dict[str, int] = {}
        while "end" not in (told := self.read()):
            if "file" not in told:
                continue
            ending, size = told["file"].removeprefix("run"), told.get("size", 0)
            path = stem.with_name(stem.name + ending)
            if ending not in ENDINGS or str(path) in files:
                raise CollectorError(f"{self.name}: sends a file {told['file']!r}")
            if size > shutil.disk_usage(stem.parent).free:
                raise CollectorError(f"{self.name}: {path}: no space for {size:,} bytes")
            self._fetch_one(path, size)
            files[str(path)] = size
        return files

    def _fetch_one(self, path: Path, size: int) -> None:
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(made, "wb") as target:
            while size:
                if not self.held:
                    self._receive(SILENCE_S)
                chunk, self.held = self.held[:size], self.held[size:]
                target.write(chunk)
                size -= len(chunk)

    def end(self) -> None:
        """Closes the connection; a recorder that still runs stops and keeps its files."""
        if self.process is None:
            return
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        # Its pipe is closed, unless a child of ssh outlives it and holds the other end.
        self._listener.join(END_S)

    def why(self) -> str:
        """Why the connection ended, in one line."""
        try:
            code = self.running.wait(5)
        except subprocess.TimeoutExpired:
            return "closed its output"
        self._listener.join(1)
        lines = self.errors.decode(errors="replace").splitlines()
        told = [line.strip() for line in lines if line.strip()]
        if code == 127:
            return f"has no {PYTHON}"
        return told[-1] if told else f"the connection ended (exit code {code})"

    def hint(self) -> str:
        """What to do after the connection ended."""
        if self.folder:
            return f"What it recorded is in {self.folder} on that host."
        return f"Does `ssh {self.target} {PYTHON} --version` work? Python 3.8 or newer is needed."


def parse(text: str, interfaces: tuple[str, ...]) -> Host:
    """One `--host`: `[NAME=]USER@HOST[,IF...]`. Raises UsageError for what is an option."""
    name, _, target = text.rpartition("=")
    target, *own = target.split(",")
    if not target or target.startswith("-"):
        raise UsageError(f"{text}: not a host", "Name one as USER@HOST, or `local`.")
    check_interfaces(own)
    plain = (name or target).rpartition("@")[2]
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in plain).strip(".") or "host"
    return Host(safe, target, tuple(own) or interfaces)
