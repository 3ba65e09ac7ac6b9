"""Write a kernel log as FORMAT.md specifies: header, samples, losses, trailer.

Shared by all collectors. Python 3.8, standard library only.
"""

import json
import os
import platform
import sys
import time

from process import tell

VERSION = "0.1.0"
INFINITE_SSTHRESH = 0x7FFFFFFF
"""TCP_INFINITE_SSTHRESH: the flow has not left its first slow start."""


def read_clock():
    """Return Unix time minus CLOCK_MONOTONIC and half the bracket's width in ns, best of 9."""
    best = None
    for _ in range(9):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        unix = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        width = after - before
        if best is None or width < best[1]:
            best = (unix - (before + after) // 2, width)
    return {"unix_offset_ns": best[0], "uncertainty_ns": best[1] // 2}


def prague_parameters():
    """Return tcp_prague's module parameters as text by name, empty without the module."""
    folder = "/sys/module/tcp_prague/parameters"
    found = {}
    try:
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name)) as file:
                found[name] = file.read().strip()
    except OSError:
        pass
    return found


class Log:
    """One kernel log on a binary stream."""

    def __init__(self, stream, collector, fields, layout=None, extra=None):
        self.stream = stream
        self.events = {}
        self.lost = {}
        self.layout = None
        header = {
            "type": "header",
            "format": "l4strace-kernel-log",
            "version": 1,
            "collector": "%s %s" % (collector, VERSION),
            "kernel": platform.release(),
            "machine": platform.machine(),
            "command": [os.path.basename(sys.argv[0]), *sys.argv[1:]],
            "clock": dict({"id": "monotonic"}, **read_clock()),
            "fields": fields,
        }
        if layout:
            header["layout"] = layout
        parameters = prague_parameters()
        if parameters:
            header["parameters"] = parameters
        header.update(extra or {})
        self.put(header)
        self.flush()

    def put(self, record):
        self.stream.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")

    def sample(self, event, record):
        """Write one sample given as a dict; values that are None are left out."""
        line = {"type": "sample", "event": event}
        line.update((key, value) for key, value in record.items() if value is not None)
        self.put(line)
        self.events[event] = self.events.get(event, 0) + 1

    def write(self, lines):
        """Write samples given as (time, finished line, event)."""
        self.stream.write(b"".join([line for _, line, _ in lines]))
        self.stream.flush()
        for _, _, event in lines:
            self.events[event] = self.events.get(event, 0) + 1

    def losing(self, where, count):
        """Note that `count` events of `where` went missing about now."""
        if count > 0:
            self.lost[where] = self.lost.get(where, 0) + count
            now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            self.put({"type": "lost", "ts_ns": now, "where": where, "count": count})

    def note(self, text):
        """Put a sentence into the log and show it to the caller of this collector."""
        tell({"note": text})
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.put({"type": "note", "ts_ns": now, "text": text})

    def found(self, layout):
        """Note the layout of struct prague that the samples showed; the trailer will hold it."""
        self.layout = layout
        self.note("struct prague: layout %s, identified from field values" % layout["name"])

    def flush(self):
        self.stream.flush()

    def close(self, ended):
        """Write the trailer. `ended` is `duration`, `signal`, `exit` or `error`."""
        trailer = {
            "type": "trailer",
            "ts_ns": time.clock_gettime_ns(time.CLOCK_MONOTONIC),
            "events": self.events,
            "lost": self.lost,
            "clock": read_clock(),
            "ended": ended,
        }
        if self.layout:
            trailer["layout"] = self.layout
        self.put(trailer)
        self.flush()

    def status(self):
        """Report progress on stderr, one JSON object a line, to the caller of this collector."""
        counts = {"events": sum(self.events.values()), "lost": sum(self.lost.values())}
        tell({"status": dict(counts, lost_at=self.lost)})


def finish(log, stop, body):
    """Run `body(log)` until it returns; whatever happens, the log gets its trailer.

    A full disk or a reader that went away ends the log without one: nothing more can be written.
    """
    ended = "error"
    try:
        body(log)
        ended = stop.reason or "exit"
    finally:
        try:
            log.close(ended)
        except OSError as error:
            tell({"error": "log not closed: %s" % error})
            # What the stream still holds cannot be written at exit either; the caller tidies up.
            os.dup2(os.open(os.devnull, os.O_WRONLY), log.stream.fileno())
            raise SystemExit(1) from None
