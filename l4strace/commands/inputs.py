"""The inputs of a command: as they are, or redacted copies with `--anonymize`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from l4strace import console
from l4strace.errors import UsageError

if TYPE_CHECKING:
    from l4strace.evidence import Capture


@contextmanager
def opened(
    paths: list[str], anonymize: bool, key: str, companions: bool
) -> Iterator[dict[str, str]]:
    """Each path to read, with the one that was given: the same, or a redacted copy's original.

    Copies are there until the work is done.
    """
    if not anonymize:
        if key:
            raise UsageError("--key goes with --anonymize", "Leave it out, or add --anonymize.")
        yield {path: path for path in paths}
        return
    from l4strace.redact import copies, mask

    with (
        console.stage("redact"),
        copies.of(paths, mask.Mask(mask.key(key)), companions) as (found, left_out),
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


def read(
    paths: list[str], anonymize: bool = False, key: str = "", companions: bool = True
) -> Capture:
    """The capture that the inputs hold."""
    with opened(paths, anonymize, key, companions) as found:
        capture = tracked(found, companions)
    return plain(capture) if anonymize else capture
