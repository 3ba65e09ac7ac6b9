"""Where the page goes, and what may be overwritten: only a page that l4strace wrote."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from l4strace import console
from l4strace.errors import UsageError

if TYPE_CHECKING:
    from l4strace.evidence import Evidence
    from l4strace.model import Analysis

GENERATOR = b'<meta name="generator" content="l4strace'
"""What every page of ours carries near its top."""
HEAD_BYTES = 4096


@dataclass(frozen=True)
class PageFile:
    """A page to be written; made before the work so that a bad place fails at once."""

    path: Path | None
    """Null for standard output."""

    @property
    def to_stdout(self) -> bool:
        """The page takes standard output."""
        return self.path is None

    @classmethod
    def plan(
        cls, output: str, paths: Sequence[str], by_default: bool, force: bool
    ) -> PageFile | None:
        """Where the page of ``paths`` goes; null when none is wanted.

        Raises UsageError when the place holds something that is not ours, or cannot be written.
        """
        if output == "-":
            return cls(None)
        if not output and not by_default:
            return None
        place = Path(output) if output else _beside(paths[0])
        _check(place, force)
        return cls(place)

    def write(self, evidence: Evidence, analysis: Analysis, command: str) -> None:
        """Renders the page and puts it in place in one step."""
        from l4strace.page import render

        page = render(evidence, analysis, command=command)
        if self.path is None:
            sys.stdout.buffer.write(page.encode())
            sys.stdout.buffer.flush()
            return
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".l4strace-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(page)
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        console.note(f"wrote {self.path}")


def command_line() -> str:
    """How this run was called, for the page's provenance."""
    return shlex.join(["l4strace", *sys.argv[1:]])


def _beside(path: str) -> Path:
    """`STEM.html` beside the input, or here when its folder cannot be written."""
    from l4strace.ingest.files import stem

    folder = Path() if path == "-" else Path(path).parent
    if not os.access(folder, os.W_OK):
        folder = Path()
    return folder / f"{stem(path)}.html"


def _check(place: Path, force: bool) -> None:
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise UsageError(f"{place}: its folder cannot be written", "Name another place with -o.")
    if place.is_dir():
        raise UsageError(f"{place}: is a folder", "Name a file with -o.")
    if place.exists() and not force and not _ours(place):
        raise UsageError(
            f"{place}: exists, and l4strace did not write it",
            "Name another with -o, or use --force.",
        )


def _ours(place: Path) -> bool:
    with place.open("rb") as file:
        head = file.read(HEAD_BYTES)
    return GENERATOR in head or not head


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
