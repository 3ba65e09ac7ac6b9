"""The pieces of a ring as one file."""

import errno
import os

from files import write_all


def join(files, output):
    """Put the ring's files, oldest first, behind each other: pcapng allows several sections.

    Where the disk has no room for them a second time, the oldest go first, as in any ring. Return
    why not all are there, or None.
    """
    files, trouble = list(files), None
    while True:
        # A part that was killed while it joined has left the beginning.
        os.ftruncate(output, 0)
        os.lseek(output, 0, os.SEEK_SET)
        try:
            for path in files:
                append(path, output)
            return trouble
        except OSError as error:
            trouble = error.strerror or str(error)
            if error.errno != errno.ENOSPC or len(files) < 2:
                return trouble
            os.unlink(files.pop(0))


def append(path, output):
    with open(path, "rb") as part:
        while True:
            data = part.read(1 << 20)
            if not data:
                return
            write_all(output, data)
