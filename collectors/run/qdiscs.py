"""The qdiscs of the captured interfaces, polled during a run: as a loop of `tc -s -j qdisc` writes.

A time of its own line, then an array of JSON. What has no queue (noqueue, mq) is left out.
"""

import json
import time

from files import write_all
from host import interfaces

QUEUELESS = ("noqueue", "mq", "mqprio", "clsact", "ingress")
RENAMED = {"backlog_bytes": "backlog"}
LEFT_OUT = ("statistics", "options")


def with_queue(names):
    """Return the interfaces that have a qdisc with a queue."""
    return [name for name in names if any(map(has_queue, polled(name)))]


def polled(name):
    """Return the qdiscs of an interface, none where it is gone."""
    try:
        return interfaces.qdiscs(name)
    except OSError:
        return []


def has_queue(row):
    return row["kind"] not in QUEUELESS


def as_tc(name, row):
    """Return one qdisc with the keys of `tc -s -j qdisc`."""
    shown = {RENAMED.get(key, key): value for key, value in row.items() if key not in LEFT_OUT}
    major = row["handle"].partition(":")[0]
    shown.update(row.get("statistics", {}), dev=name, handle=major + ":")
    return shown


class Qdiscs:
    """Polls of interfaces, if any, into an open file, until the disk takes no more."""

    def __init__(self, names, output):
        self.names = names
        self.output = output
        self.trouble = None

    def poll(self):
        """Append one poll; a reader leaves out one that a full disk cuts."""
        if self.trouble or not self.names:
            return
        now = time.time_ns()
        rows = [as_tc(name, row) for name in self.names for row in polled(name) if has_queue(row)]
        text = "%d.%09d\n%s\n" % (now // 10**9, now % 10**9, json.dumps(rows))
        try:
            write_all(self.output, text.encode())
        except OSError as error:
            self.trouble = error.strerror or str(error)
