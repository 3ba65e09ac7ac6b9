"""Orders on stdin, from the controller of a recording at the other end of ssh."""

import os
import select
import time

ORDER_BYTES = 65536


class Control:
    """Carries out `clock`, `start` and `stop`, one a line; does nothing unless `enabled`."""

    def __init__(self, enabled, stop, tell):
        self.enabled = enabled
        self.stop = stop
        self.tell = tell
        self.begun = False
        self.held = b""

    def inputs(self):
        """Return what to wait for."""
        return [0] if self.enabled else []

    def obey(self):
        """Carry out what has come; the end of stdin means that the controller is gone."""
        while self.enabled and select.select([0], [], [], 0)[0]:
            chunk = os.read(0, 4096)
            if not chunk:
                self.stop.reason = self.stop.reason or "reader"
                return
            *lines, self.held = (self.held[-ORDER_BYTES:] + chunk).split(b"\n")
            for line in lines:
                self._carry_out(line)

    def _carry_out(self, line):
        if line == b"clock":
            self.tell({"clock": time.time_ns()})
        elif line == b"start":
            self.begun = True
        elif line == b"stop":
            self.stop.reason = self.stop.reason or "exit"
