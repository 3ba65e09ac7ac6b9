"""The folder or URL that a sweep writes to; a local one is opened through no link.

Archives and other people's folders hold links: what lies behind them is nothing of a sweep's. Each
folder on the way from the results to a file is opened by its descriptor, and the next one in it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from l4strace.errors import InputError, OutputError, UsageError, reason
from l4strace.redact import output
from l4strace.studies import places

PART = ".part"
"""Ends the name of a file that is not complete."""
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
MODE = 0o666
"""Rights of new files, before the umask."""
A = TypeVar("A")


@dataclass(frozen=True)
class Store:
    """A place of results; paths of files are relative to it, with at most one folder."""

    place: str

    def names(self, folder: str = "") -> list[str]:
        """Names in a folder, sorted; none where there is no folder.

        Raises UsageError where a link or a file is in place of a folder.
        """
        if places.is_url(self.place):
            return places.names(self._shown(folder))
        return self._asked(folder, lambda handle: sorted(os.listdir(handle)), [])  # noqa: PTH208

    def read(self, path: str) -> bytes:
        """A file of at most `places.MOST_BYTES`. Raises InputError."""
        if places.is_url(self.place):
            return places.read(self._shown(path))
        try:
            found = self._asked(_folder(path), lambda handle: _bytes(_name(path), handle), None)
        except OSError as error:
            raise InputError(f"{self._shown(path)}: {reason(error)}") from error
        if found is None:
            raise InputError(f"{self._shown(path)}: No such file or directory")
        return found

    def owned(self, path: str) -> bool:
        """Whether a local file is one of this user's; a URL's owner is not asked."""
        if places.is_url(self.place):
            return True
        found = self._asked(_folder(path), lambda handle: _owner(_name(path), handle), None)
        return found == os.geteuid()

    def write(self, path: str, content: bytes) -> None:
        """A file in one step: whole or not at all; folders are made. Raises OutputError."""
        try:
            if places.is_url(self.place):
                places.put(self._shown(path), content)
                return
            Path(self.place).mkdir(parents=True, exist_ok=True)
            with self._opened(_folder(path), make=True) as handle:
                _replace(_name(path), content, handle)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise OutputError(f"{self._shown(path)}: cannot be written ({why})") from error

    def remove(self, path: str) -> None:
        """Removes a file, or a link itself; one that is gone already is fine."""
        if places.is_url(self.place):
            places.remove(self._shown(path))
            return
        with suppress(FileNotFoundError):
            self._asked(_folder(path), lambda handle: os.unlink(_name(path), dir_fd=handle), None)

    def _asked(self, folder: str, question: Callable[[int], A], absent: A) -> A:
        try:
            with self._opened(folder) as handle:
                return question(handle)
        except FileNotFoundError:
            return absent

    @contextmanager
    def _opened(self, folder: str, make: bool = False) -> Iterator[int]:
        """The descriptor of the results, or of a folder in them. Raises UsageError for a link."""
        inside: int | None = None
        try:
            for name in filter(None, (self.place.rstrip("/") or "/", folder)):
                if make and inside is not None:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=inside)
                following = self._entered(name, inside)
                if inside is not None:
                    os.close(inside)
                inside = following
            assert inside is not None  # noqa: S101 - the loop ran at least once
            yield inside
        finally:
            if inside is not None:
                os.close(inside)

    def _entered(self, name: str, inside: int | None) -> int:
        try:
            return os.open(name, output.ENTER, dir_fd=inside)
        except OSError as error:
            if error.errno not in output.FOREIGN:
                raise
            shown = self.place if inside is None else self._shown(name)
            raise UsageError(
                f"{shown}: a link or no folder; l4strace does not follow it", output.ANOTHER
            ) from error

    def _shown(self, path: str) -> str:
        return "/".join(filter(None, (self.place.rstrip("/"), path)))


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _bytes(name: str, inside: int) -> bytes:
    """The content of a regular file, within bounds."""
    with os.fdopen(os.open(name, READ, dir_fd=inside), "rb") as file:
        return places.bounded(file)


def _owner(name: str, inside: int) -> int | None:
    """User who owns a regular file; null for anything else."""
    found = os.stat(name, dir_fd=inside, follow_symlinks=False)
    return found.st_uid if stat.S_ISREG(found.st_mode) else None


def _replace(name: str, content: bytes, inside: int) -> None:
    """What lies there is replaced, a link itself and not what it leads to."""
    part = name + PART
    with suppress(FileNotFoundError):
        os.unlink(part, dir_fd=inside)
    try:
        with os.fdopen(os.open(part, NEW, MODE, dir_fd=inside), "wb") as opened:
            opened.write(content)
        os.rename(part, name, src_dir_fd=inside, dst_dir_fd=inside)
    except OSError as error:
        if error.errno != errno.EEXIST:
            with suppress(OSError):
                os.unlink(part, dir_fd=inside)
        raise
