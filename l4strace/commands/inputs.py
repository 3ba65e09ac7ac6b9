"""The inputs of a command: as they are, or redacted copies with `--anonymize`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from l4strace import console
from l4strace.errors import UsageError

if TYPE_CHECKING:
    from l4strace.evidence import Capture


@contextmanager
def opened(paths: list[str], anonymize: bool, key: str, companions: bool) -> Iterator[list[str]]:
    """``paths``, or those of their redacted copies, which are there until the work is done."""
    if not anonymize:
        if key:
            raise UsageError("--key goes with --anonymize", "Leave it out, or add --anonymize.")
        yield paths
        return
    from l4strace.redact import copies, mask

    with (
        console.stage("redact"),
        copies.of(paths, mask.Mask(mask.key(key)), companions) as (found, left_out),
    ):
        for copy in left_out:
            console.note(f"{copy.path}: left out: {copy.left_out}")
        yield found


def read(
    paths: list[str], anonymize: bool = False, key: str = "", companions: bool = True
) -> Capture:
    """The capture that the inputs hold."""
    from l4strace import pipeline

    with (
        opened(paths, anonymize, key, companions) as found,
        console.Progress("reading") as progress,
        console.stage("read"),
    ):
        capture = pipeline.read(found, progress, companions)
    if not anonymize:
        return capture
    from l4strace.redact.copies import with_plain_names

    return with_plain_names(capture)
