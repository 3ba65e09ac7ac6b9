"""The processes of a recording: each writes JSON lines to stderr and is stopped by SIGTERM."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time

from process import child_environment

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder or zipapp that holds all collectors."""
PACK_SECONDS = 30.0
SWEEP_SECONDS = 10.0
TAIL_LINES = 20


def python_with_bcc():
    """Return a Python that can import BCC: distributions install it for their own one only."""
    for candidate in (sys.executable, "/usr/bin/python3"):
        try:
            run = subprocess.run(
                [candidate, "-I", "-c", "import bcc"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=60,
            )
        except (OSError, subprocess.SubprocessError):
            continue
        if run.returncode == 0:
            return candidate
    return None


def program(name, arguments):
    """Return the command line that runs one collector of this folder or zipapp."""
    python = (python_with_bcc() if name == "bcc" else None) or sys.executable
    return [python, "-I", HERE, name, *arguments, "--with-parent"]


class Part:
    """One running collector."""

    def __init__(self, name, command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, fds=()):
        self.name = name
        self.process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=fds,
            env=child_environment(),
        )
        os.set_blocking(self.process.stderr.fileno(), False)
        self.data = b""
        self.open = True
        self.status = {}
        self.told = {}
        self.notes = []
        self.noise = []

    def fileno(self):
        return self.process.stderr.fileno()

    def read(self):
        """Take in what the collector reported; what is not JSON is kept as noise."""
        while self.open:
            try:
                chunk = os.read(self.fileno(), 65536)
            except BlockingIOError:
                return
            self.open = bool(chunk)
            *lines, self.data = (self.data + chunk).split(b"\n")
            for line in lines:
                self._line(line)

    def _line(self, line):
        try:
            record = json.loads(line)
            self.status.update(record.pop("status", {}))
            if "note" in record:
                self.notes.append(str(record.pop("note")))
            self.told.update(record)
        except (ValueError, AttributeError, TypeError):
            self.noise = [*self.noise[1 - TAIL_LINES :], line.decode(errors="replace")]

    def wait_started(self, seconds, stop):
        """Wait until the collector reports that it runs; False if it ended or cannot."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.open and "started" not in self.told:
            if stop:
                break
            select.select([self.fileno()], [], [], 0.1)
            self.read()
        if "started" not in self.told and self.open and not stop:
            self.told.setdefault("cannot", "not ready after %g s" % seconds)
        return "started" in self.told

    def alive(self):
        return self.process.poll() is None

    def ask_to_stop(self):
        if self.alive():
            self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds):
        """Wait for the end; kill what does not end. Return the exit code."""
        deadline = time.monotonic() + seconds
        while self.open and time.monotonic() < deadline:
            select.select([self.fileno()], [], [], 0.1)
            self.read()
            if not self.alive():
                self.read()
                break
        try:
            return self.process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def why(self):
        """Return why it could not run or died, in one line."""
        if "cannot" in self.told:
            return self.told["cannot"]
        code = self.process.poll()
        if code is not None and code < 0:
            return "killed by signal %d" % -code
        noise = [line for line in self.noise if line.strip()]
        return noise[-1].strip()[:300] if noise else "ended with code %s" % code


def sweep_after(part):
    """Remove what a kernel part that was killed left in the kernel; return what stays or None."""
    if (part.process.poll() or 0) >= 0:
        return None
    sweeper = Part("sweep", program("sweep", []))
    code = sweeper.wait(SWEEP_SECONDS)
    return " ".join(sweeper.notes) or sweeper.why() if code else None


class Packer:
    """The process that packs a kernel log, so that a killed collector harms nothing.

    `output` is the open file. A log that stays plain has no process: the collector writes it.
    """

    def __init__(self, output, program):
        self.part = None
        if program is None:
            self.input = os.fdopen(os.dup(output), "wb")
            return
        command = [sys.executable, "-I", HERE, "pack"]
        command += ["--with", program] if program != GZIP else []
        self.part = Part("pack", command, stdout=output, stdin=subprocess.PIPE)
        self.input = self.part.process.stdin

    def hand_over(self):
        """Close our end once the collector has its own, so that its end is the packer's."""
        self.input.close()

    def wait(self):
        """Return ({"lines", "bytes"} that reached the disk or {}, what went wrong or None)."""
        if self.part is None:
            return {}, None
        code = self.part.wait(PACK_SECONDS)
        packed = self.part.told.get("packed", {})
        trouble = packed.pop("error", None)
        return packed, trouble or (None if code == 0 else self.part.why())


GZIP = "gzip"
"""Name that stands for Python's own gzip where no program compresses."""


def packing(plain):
    """Return (what packs a kernel log, the ending of its name)."""
    if plain:
        return None, ""
    found = shutil.which("zstd", path=os.environ.get("PATH", "") + ":/usr/bin:/bin")
    return (found, ".zst") if found else (GZIP, ".gz")
