"""What a killed packet part left: its file is brought into order and counted."""

import os
import select
import shutil
import time

from packets import dumpcap, pcapng
from packets.joining import join

WRITING_SECONDS = 20.0
"""dumpcap notices the death of its parent and still writes what it holds."""


class Writers:
    """Shows when nobody writes packets any more: each who does inherits one end of a pipe."""

    def __init__(self):
        self._end, self.inherited = os.pipe()

    def wait(self):
        """Wait until all have ended, for a while: nothing is ever written to the pipe."""
        os.close(self.inherited)
        select.select([self._end], [], [], WRITING_SECONDS)


def salvage(output, pieces, reason, writers):
    """Return the counts of a packet part that could not state them.

    `output` is the open capture, `pieces` the folder of a ring or None, which is removed.
    """
    writers.wait()
    if pieces:
        found = dumpcap.pieces_of(pieces)
        for path in found:
            with open(path, "r+b") as piece:
                pcapng.mend(piece.fileno(), time.time_ns(), reason)
        try:
            trouble = join(found, output)
        finally:
            discard(pieces)
        reason += ": %s" % trouble if trouble else ""
    cut = pcapng.mend(output, time.time_ns(), reason)
    counts = {"packets": pcapng.walk(output)[1], "interfaces": {}, "ended": reason}
    return dict(counts, cut_bytes=cut, bytes=os.fstat(output).st_size)


def discard(pieces):
    """Remove the folder of a ring; None without one."""
    if pieces:
        shutil.rmtree(pieces, ignore_errors=True)
