"""What is due each second of a recording, also while samples come faster than they are written."""

import time

SECONDS = 1.0
END_SECONDS = 5.0
"""After the stop, for what is still in the buffers; the caller kills what ends much later."""


class Duties:
    """Samples on their way to the receiver, and in between them what cannot wait for a pause.

    BCC reads a buffer until it is empty: a poll does not return before.
    """

    def __init__(self, stop, program, receiver, log):
        self.stop = stop
        self.program = program
        self.receiver = receiver
        self.log = log
        self.due = time.monotonic() + SECONDS
        self.until = None
        self.unread = 0

    def take(self, raw):
        """Hand on one sample; long after the stop count it only, so that the buffers run dry."""
        now = time.monotonic()
        if self.stop:
            self.until = self.until or now + END_SECONDS
            if now > self.until:
                self.unread += 1
                return
        self.receiver.take(raw)
        self.look(now)

    def look(self, now):
        """Do what is due: samples that waited, losses, the log to the disk, the status."""
        self.receiver.tick(now)
        if now >= self.due:
            self.report(now)

    def report(self, now):
        self.due = now + SECONDS
        for where, count in self.program.newly_lost().items():
            self.log.losing(where, count)
        self.log.flush()
        self.log.status()

    def end(self):
        """Decide what was open. Samples that nobody had the time to read are lost in the buffer."""
        self.report(time.monotonic())
        self.log.losing("ring", self.unread)
        self.receiver.end()
