"""The inputs of a command: as they are, or redacted copies with `--anonymize`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from l4strace import console
from l4strace.commands.arguments import Files
from l4strace.errors import UsageError

if TYPE_CHECKING:
    from l4strace.evidence import Capture
    from l4strace.pipeline import Asked, Judged


@contextmanager
def opened(files: Files) -> Iterator[dict[str, str]]:
    """Each path to read, with the path that the user gave: equal, but for redacted copies.

    Redacted copies exist only within the context.
    """
    if not files.anonymize:
        if files.key:
            raise UsageError("--key goes with --anonymize", "Leave it out, or add --anonymize.")
        yield {path: path for path in files.paths}
        return
    from l4strace.redact import copies, mask

    with (
        console.stage("redact"),
        copies.of(files.paths, mask.Mask(mask.key(files.key)), files.companions) as (
            found,
            left_out,
        ),
    ):
        for copy in left_out:
            console.note(f"{copy.path}: left out: {copy.left_out}")
        yield found


def diagnosed(files: Files, found: Iterable[str], asked: Asked) -> list[Judged]:
    """Each run of the files that `opened` found; one of redacted copies shows names for paths."""
    from l4strace import pipeline

    return pipeline.diagnose(
        list(found),
        asked,
        companions=files.companions,
        reading=console.Progress("reading"),
        shown=partial(_shown, files),
    )


def read(files: Files, digests: bool) -> Capture:
    """What the inputs hold, with ``digests`` of them."""
    from l4strace import pipeline

    with opened(files) as found, console.Progress("reading") as progress, console.stage("read"):
        capture = pipeline.read(list(found), progress, files.companions, digests)
    return _shown(files, capture)


def _shown(files: Files, capture: Capture) -> Capture:
    """``capture`` as outputs show it: one of redacted copies has file names for paths."""
    if not files.anonymize:
        return capture
    from l4strace.redact.copies import as_shown

    return as_shown(capture)


def judged(files: Files, asked: Asked) -> list[Judged]:
    """Each run of the inputs."""
    with opened(files) as found:
        return diagnosed(files, found, asked)
