"""Where the page goes, and what may be overwritten: only a page that l4strace wrote."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from l4strace import console
from l4strace.commands.destination import Destination
from l4strace.errors import OutputError
from l4strace.resources import timed

if TYPE_CHECKING:
    from l4strace.evidence import Evidence
    from l4strace.model import Analysis

HEAD_BYTES = 4096
"""A page carries its mark near its top."""


class PageFile(Destination):
    """A page to be written."""

    @classmethod
    def plan(
        cls, output: str, paths: Sequence[str], by_default: bool, force: bool
    ) -> PageFile | None:
        """Where the page of ``paths`` goes; null when none is wanted.

        Raises UsageError when the place holds something that is not ours, OutputError when it
        cannot be written.
        """
        if not output and not by_default:
            return None
        return cls(output or str(_beside(paths[0])), ours, force)

    def write(self, evidence: Evidence, analysis: Analysis, command: str) -> None:
        """Renders the page and puts it in place in one step."""
        from l4strace.ingest.file_names import shown

        with timed("import"):
            from l4strace.page import encoded

        page = encoded(evidence, analysis, command=command)
        with self.opened() as file:
            file.write(page)
        if self.stream is None:
            console.note(f"wrote {shown(str(self.path))}")


@contextmanager
def or_no_page(output: str) -> Iterator[None]:
    """Goes on without a page that nobody named with ``output`` where it cannot be written."""
    try:
        yield
    except OutputError as error:
        if output:
            raise
        console.note(f"no page: {error}. {error.hint}".rstrip(". ") + ".")


def command_line() -> str:
    """How this run was called, for the page's provenance."""
    from l4strace.ingest.file_names import shown

    return shown(shlex.join(["l4strace", *sys.argv[1:]]))


def _beside(path: str) -> Path:
    """`STEM.html` beside the input, or here when its folder cannot or must not be written."""
    from l4strace.ingest.files import stem

    folder = Path() if path == "-" else Path(path).parent
    if not os.access(folder, os.W_OK) or _of_system(folder):
        folder = Path()
    return folder / f"{stem(path)}.html"


def _of_system(folder: Path) -> bool:
    """Whether the system owns ``folder``: `diagnose /dev/stdin` as root must not write to /dev.

    /dev/shm is for files of users.
    """
    system = any(folder.is_relative_to(place) for place in ("/dev", "/proc", "/sys"))
    return system and not folder.is_relative_to("/dev/shm")  # noqa: S108 - no file of ours


def ours(place: Path) -> bool:
    """Whether a regular file is a page that l4strace wrote."""
    from l4strace.ingest.files import PAGE

    return PAGE in head(place)


def head(place: Path) -> bytes:
    """The first bytes of a regular file, where its mark is."""
    # A file that is swapped for a link or a pipe just now is not followed and does not block.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(place, flags), "rb") as file:
        return file.read(HEAD_BYTES)
