"""The recording below the view: the collector `record`, followed without waiting for it."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from l4strace.capture.local import started
from l4strace.capture.messages import message
from l4strace.capture.request import Request
from l4strace.errors import CollectorError

STOP_S = 40.0


class Recorder:
    """The collector's process and its reports; Ctrl-C does not reach it."""

    def __init__(self, request: Request) -> None:
        self.stem = request.stem
        self.status: dict[str, Any] = {}
        self.last: dict[str, Any] = {}
        self.notes: list[str] = []
        self._held = b""
        self._output, write_end = os.pipe()
        os.set_blocking(self._output, False)
        # Ctrl-C is for the view, which then stops the recorder.
        nothing = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        self._process = started(request, write_end, "--plain", start_new_session=True, **nothing)

    @property
    def capture(self) -> Path:
        """The growing capture."""
        return self.stem.with_name(self.stem.name + ".pcapng")

    def update(self) -> None:
        """Reads what the recorder reports. Raises CollectorError when it cannot record."""
        while True:
            try:
                chunk = os.read(self._output, 65536)
            except BlockingIOError:
                break
            if not chunk:
                break
            *lines, self._held = (self._held + chunk).split(b"\n")
            for line in lines:
                self._take(message(line) or {})
        if "cannot" in self.last:
            raise CollectorError(self.last["cannot"], self.last.get("remedy", ""))

    def _take(self, message: dict[str, Any]) -> None:
        self.status = message.get("status", self.status)
        if "told" in message:
            self.notes.append(message["told"])
        if "cannot" in message or "summary" in message:
            self.last = message

    @property
    def running(self) -> bool:
        """The recorder's process has not ended."""
        return self._process.poll() is None

    def stop(self) -> dict[str, Any]:
        """Ends the recording; returns its summary, empty if it died."""
        if self.running:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.update()
        os.close(self._output)
        summary: dict[str, Any] = self.last.get("summary", {})
        return summary
