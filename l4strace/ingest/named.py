"""File names that are no UTF-8: what is shown for them, and what the native module opens.

Linux takes any bytes as a name; tables, JSON and pages hold UTF-8. Such a name is shown with its
odd bytes as `\\xff`, and opened through `/proc/self/fd`.
"""

from __future__ import annotations

import os

from l4strace.errors import InputError

_opened: dict[str, str] = {}
"""Shown name -> `/proc/self/fd/N`, which stays valid as long as the process lives."""


def odd(path: str) -> bool:
    """Whether ``path`` holds bytes that are no UTF-8 (as surrogates, like `os.fsdecode` has it)."""
    return not path.isascii() and any("\ud800" <= c <= "\udfff" for c in path)


def shown(path: str) -> str:
    """``path`` as UTF-8 text, for tables, messages and pages."""
    return os.fsencode(path).decode("utf-8", "backslashreplace") if odd(path) else path


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
        except OSError as error:
            raise InputError(f"{name}: {error.strerror or error}") from error
        _opened[name] = f"/proc/self/fd/{handle}"
    return name


def opened(path: str) -> str:
    """What opens the input that tables call ``path``."""
    return _opened.get(path, path)


def readable(message: str) -> str:
    """``message`` of the native module with the shown names."""
    for name, handle in _opened.items():
        message = message.replace(f"{handle}:", f"{name}:")
    return message
