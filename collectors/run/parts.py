"""The processes of a recording: each tells JSON lines on stderr and is stopped by SIGTERM."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder or zipapp that holds all collectors."""
COMPRESSORS = (("zstd", ["-q", "-c", "-"], ".zst"), ("gzip", ["-1", "-c"], ".gz"))
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

    def __init__(self, name, command, stdout=subprocess.DEVNULL):
        self.name = name
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        os.set_blocking(self.process.stderr.fileno(), False)
        self.data = b""
        self.open = True
        self.status = {}
        self.told = {}
        self.noise = []

    def fileno(self):
        return self.process.stderr.fileno()

    def read(self):
        """Take in what the collector told; what is no JSON is kept as noise."""
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
            self.told.update(record)
        except (ValueError, AttributeError, TypeError):
            self.noise = [*self.noise[1 - TAIL_LINES :], line.decode(errors="replace")]

    def wait_started(self, seconds, stop):
        """Wait until the collector says that it runs; False if it ended or cannot."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.open and "started" not in self.told:
            if stop:
                break
            select.select([self.fileno()], [], [], 0.1)
            self.read()
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
        """Say why it could not run or died, in one line."""
        if "cannot" in self.told:
            return self.told["cannot"]
        code = self.process.poll()
        if code is not None and code < 0:
            return "killed by signal %d" % -code
        noise = [line for line in self.noise if line.strip()]
        return noise[-1].strip()[:300] if noise else "ended with code %s" % code


class Compressor:
    """A process that packs a kernel log into a file, so that a killed collector harms nothing."""

    def __init__(self, path, plain=False):
        self.path = path
        self.process = None
        for name, arguments, ending in () if plain else COMPRESSORS:
            found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/bin:/bin")
            if found:
                self.path = path + ending
                self._start([found, *arguments])
                return
        self.input = open(self.path, "wb")

    def _start(self, command):
        with open(self.path, "wb") as output:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.input = self.process.stdin

    def hand_over(self):
        """Close our end once the collector has its own, so that its end is the compressor's."""
        self.input.close()

    def wait(self):
        """Return None if the log was packed to its end, else what went wrong."""
        if self.process is None:
            return None
        try:
            code = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "the compressor did not end"
        return None if code == 0 else "the compressor ended with code %d" % code

    def discard(self):
        self.wait()
        try:
            os.unlink(self.path)
        except OSError:
            pass
