"""File names that cannot be shown as they are, and what the native module opens for them.

Linux takes any bytes as a name; tables, JSON and pages hold UTF-8, and no line end or escape of a
name may reach a terminal. Such a name is shown with its odd bytes as `\\xff`, and opened through
`/proc/self/fd`.
"""

from __future__ import annotations

import os
from pathlib import Path

from l4strace.errors import InputError, reason

_opened: dict[str, str] = {}
"""Shown name -> `/proc/self/fd/N`, which stays valid as long as the process lives."""


def odd(path: str) -> bool:
    """Whether ``path`` holds control characters, or bytes that are no UTF-8 (as surrogates)."""
    return not path.isprintable()


def shown(path: str) -> str:
    """``path`` as one line of UTF-8 text, for tables, messages and pages."""
    return path if not odd(path) else "".join(c if c.isprintable() else _bytes(c) for c in path)


def _bytes(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))


def registered(path: str) -> str:
    """``path``, or the shown name of an odd one that can be opened from now on.

    Raises InputError when an odd one does not exist.
    """
    if not odd(path):
        return path
    name = shown(path)
    if name not in _opened:
        try:
            # O_PATH: no byte is read and no pipe is waited for.
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise InputError(f"{name}: {reason(error)}") from error
        _opened[name] = f"/proc/self/fd/{handle}"
    return name


def opened(path: str) -> str:
    """Function that opens the input that tables call ``path``."""
    return _opened.get(path, path)


def read_twice(path: str) -> bool:
    """Whether the input that tables call ``path`` can be read twice: no pipe, no stdin."""
    return Path(opened(path)).is_file()


def readable(message: str) -> str:
    """``message`` of the native module with the shown names."""
    for name, handle in _opened.items():
        message = message.replace(f"{handle}:", f"{name}:")
    return message
