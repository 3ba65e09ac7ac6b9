"""What a killed packet part left: its file is brought into order and counted."""

import os
import shutil
import time

from packets import dumpcap, pcapng
from packets.joining import join

SETTLE_SECONDS = 5.0
"""dumpcap notices the death of its parent and still writes what it holds."""
STABLE_SECONDS = 0.5


def salvage(output, pieces, reason):
    """Return the counts of a packet part that could not state them.

    `output` is the open capture, `pieces` the folder of a ring or None, which is removed.
    """
    settle(lambda: sizes(pieces) if pieces else os.fstat(output).st_size)
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


def settle(written):
    """Wait until nobody writes any more."""
    deadline = time.monotonic() + SETTLE_SECONDS
    before = None
    while time.monotonic() < deadline and before != written():
        before = written()
        time.sleep(STABLE_SECONDS)


def sizes(folder):
    return [(path, dumpcap.size_of(path)) for path in dumpcap.pieces_of(folder)]
