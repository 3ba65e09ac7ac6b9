"""One host at the other end of ssh: sends the collectors, gives orders, fetches the files.

Nothing is installed there: the zipapp lies in a temporary folder that goes when the run is over.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from l4strace.capture.bundle import zipapp
from l4strace.errors import CollectorError

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
os.execv(sys.executable,[sys.executable,p,"serve",d]+sys.argv[1:])
"""
"""Reads its twelve digits and the zipapp from stdin, byte by byte exact, then becomes it."""
OPTIONS = ("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", "-o", "ConnectTimeout=15")
CLOCK_ROUNDS = 9
PYTHON = "python3"
CHUNK = 1 << 20


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

    def begin(self, ssh: str, options: list[str]) -> None:
        """Starts the recorder there; `read` then yields what it tells."""
        if self.target == "local":
            command = [sys.executable, "-c", BOOTSTRAP, *options]
        else:
            batch = () if sys.stdin.isatty() else ("-o", "BatchMode=yes")
            remote = shlex.join([PYTHON, "-c", BOOTSTRAP, *options])
            command = [*shlex.split(ssh), *OPTIONS, *batch, self.target, remote]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=self.target == "local",
        )
        archive = zipapp()
        self._send(b"%012d" % len(archive) + archive)

    def _send(self, data: bytes) -> None:
        stdin = self.running.stdin
        with contextlib.suppress(OSError):  # it is gone: `read` says so
            if stdin is not None:
                stdin.write(data)
                stdin.flush()

    def order(self, word: str) -> None:
        """Sends one order."""
        self._send(word.encode() + b"\n")

    @property
    def output(self) -> IO[bytes]:
        """What the recorder tells."""
        if self.running.stdout is None:
            raise CollectorError(f"{self.name}: has no output")
        return self.running.stdout

    @property
    def running(self) -> subprocess.Popen[bytes]:
        """The connection. Raises CollectorError before `begin`."""
        if self.process is None:
            raise CollectorError(f"{self.name}: not connected")
        return self.process

    def read(self) -> dict[str, Any]:
        """The recorder's next line. Raises CollectorError when the connection is gone."""
        while True:
            line = self.output.readline()
            if not line.endswith(b"\n"):
                raise CollectorError(f"{self.name}: {self.why()}", self.hint())
            try:
                told = json.loads(line)
            except ValueError:
                continue  # a login banner
            if isinstance(told, dict):
                return told

    def read_until(self, *keys: str) -> dict[str, Any]:
        """The next line that has one of ``keys``. Raises CollectorError for `cannot`."""
        while True:
            told = self.read()
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
            ending = str(told["file"]).removeprefix("run")
            if "/" in ending or not ending.startswith("."):
                raise CollectorError(f"{self.name}: sends a file {told['file']!r}")
            path = stem.with_name(stem.name + ending)
            self._fetch_one(path, int(told["size"]))
            files[str(path)] = int(told["size"])
        return files

    def _fetch_one(self, path: Path, size: int) -> None:
        with path.open("wb") as target:
            while size:
                chunk = self.output.read(min(CHUNK, size))
                if not chunk:
                    raise CollectorError(f"{self.name}: {self.why()}", self.hint())
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
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def why(self) -> str:
        """Why the connection ended, in one line."""
        try:
            code = self.running.wait(5)
        except subprocess.TimeoutExpired:
            return "says nothing any more"
        text = self.running.stderr.read() if self.running.stderr else b""
        lines = text.decode(errors="replace").splitlines()
        told = [line.strip() for line in lines if line.strip()]
        if code == 127:
            return f"has no {PYTHON}"
        return told[-1] if told else f"the connection ended (exit code {code})"

    def hint(self) -> str:
        """What to do after the connection ended."""
        if self.folder:
            return f"What it had recorded is there in {self.folder}, if the host still lives."
        return f"Does `ssh {self.target} {PYTHON} --version` work? Python 3.8 or newer is needed."


def parse(text: str, interfaces: tuple[str, ...]) -> Host:
    """One `--host`: `[NAME=]USER@HOST[,IF...]`."""
    name, _, target = text.rpartition("=")
    target, *own = target.split(",")
    plain = (name or target).rpartition("@")[2]
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in plain).strip(".") or "host"
    return Host(safe, target, tuple(own) or interfaces)
