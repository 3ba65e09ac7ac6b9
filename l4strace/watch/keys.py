"""Single keys from the terminal, without echo and without Enter."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def single_keys() -> Iterator[None]:
    """While inside, keys come at once; Ctrl-C still works. Undone whatever happens."""
    if not sys.stdin.isatty():
        yield
        return
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    try:
        tty.setcbreak(number)
        yield
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def pressed(seconds: float) -> str:
    """The key pressed within ``seconds``, empty for none."""
    if not sys.stdin.isatty():
        select.select([], [], [], seconds)
        return ""
    if not select.select([sys.stdin], [], [], seconds)[0]:
        return ""
    return os.read(sys.stdin.fileno(), 64).decode(errors="ignore")[:1]
