"""The folder of the copies: new files that only their owner can read, never through a link."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from l4strace.errors import OutputError, UsageError, reason

ANOTHER = "Name another folder with -o."
FOREIGN = (errno.ENOTDIR, errno.ELOOP)
"""Errors that mean that the name belongs to something else."""
ENTER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Opens a folder, but no link to one."""


class Folder:
    """A folder that exists, or is made for its owner alone."""

    def __init__(self, name: str) -> None:
        """Raises UsageError when it is a link or no folder, OutputError when it cannot be made."""
        self.name = name
        try:
            with suppress(FileExistsError):
                Path(name).mkdir(0o700)
            # Behind a slash at its end a link would be followed.
            self._handle = os.open(name.rstrip("/") or "/", ENTER)
        except (OSError, ValueError) as error:
            kind = UsageError if getattr(error, "errno", 0) in FOREIGN else OutputError
            raise kind(f"{name}: {reason(error)}", ANOTHER) from error

    def close(self) -> None:
        """Gives the folder back."""
        os.close(self._handle)

    def check(self, names: list[str]) -> None:
        """Raises UsageError when one of the files exists, or two inputs have one name."""
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"two inputs are called {name}", "Redact them into two folders.")
            with suppress(FileNotFoundError):
                os.stat(name, dir_fd=self._handle, follow_symlinks=False)
                raise UsageError(f"{Path(self.name) / name}: exists", ANOTHER)

    @contextmanager
    def new(self, name: str) -> Iterator[BinaryIO]:
        """A new file, whole or not at all. Raises OutputError when it cannot be written."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(name, flags, stat.S_IRUSR | stat.S_IWUSR, dir_fd=self._handle)
            try:
                with os.fdopen(handle, "wb") as file:
                    yield file
            except BaseException:
                os.unlink(name, dir_fd=self._handle)
                raise
        except OSError as error:
            why = reason(error)
            raise OutputError(f"{Path(self.name) / name}: cannot be written ({why})") from error
