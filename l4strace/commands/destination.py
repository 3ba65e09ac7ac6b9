"""Where a result may be written: new files and l4strace's own, and through devices and pipes.

Nothing else that a user owns is replaced: no link, no device node, no file of another program.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from l4strace import console
from l4strace.errors import OutputError, UsageError, reason

STREAMS = {"-": 1, "/dev/stdout": 1, "/dev/stderr": 2}
DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d{1,9})\Z")
READER_WAIT_S = 5.0
"""How long to wait for the reader of a named pipe, which may just be starting."""
RETRY_S = 0.05

Ours = Callable[[Path], bool]


class Destination:
    """One place to write to; made before the work, so that a bad place fails at once."""

    def __init__(self, output: str, ours: Ours, force: bool = False) -> None:
        """Raises OutputError when ``output`` cannot be written, UsageError for something foreign.

        ``ours`` decides whether a regular file is one that may be replaced; ``force`` allows any.
        """
        self.output = output
        self.path = Path(output)
        self.name = "standard output" if output == "-" else output
        self.stream = _descriptor(output)
        self._ours = ours
        self._force = force
        self._pipe: int | None = None
        if self.stream is None:
            try:
                self._check()
            except OSError as error:
                raise OutputError(f"{output}: {reason(error)}", ANOTHER) from error

    @property
    def to_stdout(self) -> bool:
        """Whether the result goes to standard output."""
        return self.stream == 1

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Where to write bytes; a file appears under its name in one step, whole or not at all.

        Raises OutputError when it cannot be written; a closed standard output is no error.
        """
        try:
            with self._opened() as file:
                yield file
        except BrokenPipeError as error:
            if not self.to_stdout:
                raise OutputError(f"{self.output}: its reader went away") from error
            console.discard_stdout()
        except OSError as error:
            if self.to_stdout:
                console.discard_stdout()
            raise OutputError(f"{self.name}: cannot be written ({reason(error)})") from error

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        if self.to_stdout:
            sys.stdout.flush()
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        handle = self._through()
        if handle is None:
            with self._replaced() as file:
                yield file
            return
        file = os.fdopen(handle, "wb")
        try:
            yield file
            file.flush()
        finally:
            # What a broken pipe did not take is not tried a second time.
            with suppress(OSError):
                file.close()

    def _through(self) -> int | None:
        """The descriptor of a device or pipe to write to directly; null for a regular file."""
        if self.stream is not None:
            return os.dup(self.stream)
        if self._pipe is not None:
            handle, self._pipe = self._pipe, None
            return handle
        if self._kind() == stat.S_IFCHR:
            return os.open(self.path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC)
        return None

    @contextmanager
    def _replaced(self) -> Iterator[BinaryIO]:
        # mkstemp creates exclusively and follows no link.
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".l4strace-")
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
            Path(name).chmod(0o666 & ~_umask())
            self._check()
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def _kind(self) -> int | None:
        """File type of what is there, links not followed; null when nothing is."""
        try:
            return stat.S_IFMT(self.path.lstat().st_mode)
        except FileNotFoundError:
            return None

    def _check(self) -> None:
        kind = self._kind()
        if kind == stat.S_IFCHR:
            return
        if kind == stat.S_IFIFO:
            if self._pipe is None:
                self._pipe = _reader_of(self.path)
            return
        if kind == stat.S_IFDIR:
            raise UsageError(f"{self.output}: a folder, not a file", "Name a file with -o.")
        if not os.access(self.path.parent, os.W_OK | os.X_OK):
            why = "cannot be written" if self.path.parent.is_dir() else "does not exist"
            raise OutputError(f"{self.output}: its folder {why}", ANOTHER)
        if kind is None:
            return
        if kind != stat.S_IFREG:
            what = "a link" if kind == stat.S_IFLNK else "neither a file nor a pipe"
            raise UsageError(f"{self.output}: is {what}; l4strace does not replace it", ANOTHER)
        if not self._force and not self._ours(self.path):
            raise UsageError(
                f"{self.output}: exists, and l4strace did not write it",
                "Name another with -o, or use --force.",
            )


ANOTHER = "Name another place with -o."


def _descriptor(output: str) -> int | None:
    """The open descriptor that ``output`` stands for, as `-` and `/dev/stdout` do."""
    found = DESCRIPTOR.match(output)
    return int(found[1]) if found else STREAMS.get(output)


def _reader_of(pipe: Path) -> int:
    """A named pipe opened for writing, in blocking mode. Raises OutputError without a reader."""
    deadline = time.monotonic() + READER_WAIT_S
    while True:
        try:
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(pipe, flags)
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > deadline:
                why = "nobody reads this pipe" if error.errno == errno.ENXIO else error.strerror
                raise OutputError(f"{pipe}: {why}", "Start its reader first.") from error
            time.sleep(RETRY_S)
            continue
        os.set_blocking(handle, True)
        return handle


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
