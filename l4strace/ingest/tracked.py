"""The captures of one run, tracked by the native module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from l4strace import console, resources
from l4strace.core import _native
from l4strace.errors import InputError
from l4strace.ingest import digest, file_names, files, keys

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all (0: not known)."""


class Tracked(NamedTuple):
    """The files of a run, and what was made of the captures among them."""

    inputs: files.Inputs
    tables: Mapping[str, Any]
    """sources, flows, directions, rounds, paths and stats as Arrow; empty without a capture."""
    keys: keys.Opened
    """What the keys among them decrypt."""
    digests: Mapping[str, str | None]
    """SHA-256 by path, of captures whose checksum was computed while they were tracked."""


def track(
    paths: Sequence[str],
    progress: Progress | None = None,
    companions: bool = True,
    digests: bool = True,
) -> Tracked:
    """Reads the captures among ``paths``; with ``companions`` also finds the files beside them.

    With ``digests`` their checksums are computed beside it, where a thread is to spare.

    Raises InputError for a path that cannot be read or is neither capture nor log.
    """
    inputs = files.of_run(paths, companions)
    _see_to_rest(inputs)
    decrypted = keys.opened(inputs)
    if not inputs.captures:
        return Tracked(inputs, {}, decrypted, {})
    opened = [file_names.opened(path) for path in inputs.captures]
    try:
        with digest.beside(inputs.captures if digests else ()) as known:
            tables = _native.track(opened, progress, resources.most_threads(), decrypted.dissected)
    except InputError as error:
        raise InputError(file_names.readable(str(error)), error.hint) from error
    return Tracked(inputs, tables, decrypted, known)


def _see_to_rest(inputs: files.Inputs) -> None:
    """Raises InputError when nothing but pages and results is left; else notes the results."""
    if inputs.captures or inputs.logs or inputs.hosts:
        for path in inputs.results:
            console.note(f"{path}: results of iperf3, left out: `l4strace sweep` reads them.")
        return
    if inputs.keys:
        why = f"{inputs.keys[0]}: keys, and no packets"
        raise InputError(why, "Name the capture that they open.")
    if inputs.results:
        why, hint = "holds results of iperf3 and no packets", "`l4strace sweep` reads them."
        raise InputError(f"{inputs.results[0]}: {why}", f"Name a capture. {hint}")
    raise InputError(
        f"{inputs.pages[0]}: a page of l4strace, not a capture", "Name the capture itself."
    )
