"""The inputs of a command: as they are, or redacted copies with `--anonymize`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from l4strace import console
from l4strace.commands.arguments import Files
from l4strace.errors import UsageError

if TYPE_CHECKING:
    from l4strace.evidence import Capture


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


def tracked(found: Iterable[str], companions: bool) -> Capture:
    """What the files hold that `opened` found."""
    from l4strace import pipeline

    with console.Progress("reading") as progress, console.stage("read"):
        return pipeline.read(list(found), progress, companions)


def plain(capture: Capture) -> Capture:
    """The capture of redacted copies, with file names for paths."""
    from l4strace.redact.copies import with_plain_names

    return with_plain_names(capture)


def read(files: Files) -> Capture:
    """The capture that the inputs hold."""
    with opened(files) as found:
        capture = tracked(found, files.companions)
    return plain(capture) if files.anonymize else capture
