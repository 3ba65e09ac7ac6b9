"""The inputs of a command: as they are, or redacted copies with `--anonymize`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING

from l4strace import console, threads
from l4strace.commands.arguments import Files
from l4strace.errors import UsageError
from l4strace.timings import timed

if TYPE_CHECKING:
    from l4strace.evidence import Capture


@contextmanager
def opened(files: Files) -> Iterator[dict[str, str]]:
    """Each path to read, with the one that was given: the same, or a redacted copy's original.

    Copies are there until the work is done.
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


def tracked(found: Iterable[str], companions: bool, needed: tuple[str, ...] = ()) -> Capture:
    """What the files hold that `opened` found; of large ones they are read while Python imports.

    ``needed`` names modules that the command needs after it, beside the pipeline.
    """
    from l4strace.ingest.tracked import track

    paths = list(found)
    with console.Progress("reading") as progress, console.stage("read"):
        with _importing(("l4strace.pipeline", *needed), threads.spare(paths)):
            packets = track(paths, progress, companions)
        from l4strace import pipeline

        return pipeline.of_tracked(packets, progress)


@contextmanager
def _importing(modules: Iterable[str], meanwhile: bool) -> Iterator[None]:
    """Has ``modules`` imported, with ``meanwhile`` by a thread while the block runs."""
    if not meanwhile:
        yield
        return
    from threading import Thread

    # A daemon: where the block fails nobody waits for it. What fails in it fails again, in whoever
    # imports the module then.
    thread = Thread(target=_import, args=(modules,), daemon=True)
    thread.start()
    yield
    with timed("import"):
        thread.join()


def _import(modules: Iterable[str]) -> None:
    with suppress(Exception):
        for module in modules:
            import_module(module)


def plain(capture: Capture) -> Capture:
    """The capture of redacted copies, with file names for paths."""
    from l4strace.redact.copies import with_plain_names

    return with_plain_names(capture)


def read(files: Files) -> Capture:
    """The capture that the inputs hold."""
    with opened(files) as found:
        capture = tracked(found, files.companions)
    return plain(capture) if files.anonymize else capture
