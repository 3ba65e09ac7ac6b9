"""Ctrl-C at a chosen moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

BEHIND_BYTES = 64 << 20
"""What was read when the signal comes, but for the few that a pipe holds."""
MOST_BYTES = 1 << 30
"""What a reader that takes no notice gets before the end of the file."""
WRITER = """
import os, signal, sys
path, parent, behind, most = sys.argv[1], *map(int, sys.argv[2:])
zeros = bytes(1 << 16)
with open(path, "wb", buffering=0) as pipe:
    for written in range(0, most, len(zeros)):
        if written == behind:
            os.kill(parent, signal.SIGALRM)
        try:
            pipe.write(zeros)
        except BrokenPipeError:
            break
"""


@contextmanager
def interrupted(pipe: Path) -> Iterator[None]:
    """Makes ``pipe``, from which the block reads zeros without end until Ctrl-C gets it out."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    os.mkfifo(pipe)
    words = [str(pipe), str(os.getpid()), str(BEHIND_BYTES), str(MOST_BYTES)]
    before = signal.signal(signal.SIGALRM, interrupt)
    writer = subprocess.Popen([sys.executable, "-I", "-c", WRITER, *words])
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        writer.kill()
        writer.wait()
        signal.signal(signal.SIGALRM, before)
