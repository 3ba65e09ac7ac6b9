"""Diagnose L4S, TCP Prague and Accurate ECN from captures and kernel logs.

import l4strace
run = l4strace.open("run.pcap")
run.rounds      # a polars frame, like every table
run.findings    # a polars frame, worst finding first
run.figures()   # plotly figures by name
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any

from l4strace.errors import CollectorError, InputError, L4straceError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from l4strace.comparison.notebook import Compared, Study
    from l4strace.run import Run

__all__ = [
    "CollectorError",
    "InputError",
    "L4straceError",
    "Run",
    "Study",
    "UsageError",
    "compare",
    "dated",
    "open",
    "open_all",
    "sweep",
]


EACH = "Open each by itself, or all of them with l4strace.open_all(*files)."


def open(  # noqa: A001 - read as l4strace.open
    *paths: str | PathLike[str],
    select: str | Iterable[str] = (),
    ignore: str | Iterable[str] = (),
    companions: bool = True,
    progress: Callable[[int, int], None] | bool = False,
) -> Run:
    """Reads and judges one run: captures, kernel logs and host files, identified by content.

    Logs beside a capture with the same stem are found by themselves, unless ``companions`` is
    false. ``select`` and ``ignore`` hold codes of rules, prefixes of codes or names, or are one of
    these. ``progress`` is called with bytes done and bytes in all (0: not known); True shows a line
    on stderr. Raises InputError for a file that cannot be read, UsageError for a word that names no
    rule, for a path that is none, and for captures of several runs: they show no flow in common and
    do not overlap in time. polars and the native core load here, not with the package.
    """
    from l4strace.run import open_runs

    (run,) = open_runs(
        list(map(_name, paths)),
        select=select, ignore=ignore, companions=companions, progress=progress, one_run=EACH,
    )  # fmt: skip
    return run


def open_all(
    *paths: str | PathLike[str],
    select: str | Iterable[str] = (),
    ignore: str | Iterable[str] = (),
    companions: bool = True,
    progress: Callable[[int, int], None] | bool = False,
) -> list[Run]:
    """Reads and judges every run that the inputs hold, in the order of the inputs.

    Captures are of one run when they show a flow in common, overlap in time or have one stem; each
    run is judged by itself. Arguments and errors are those of `open`.
    """
    from l4strace.run import open_runs

    return open_runs(
        list(map(_name, paths)),
        select=select, ignore=ignore, companions=companions, progress=progress,
    )  # fmt: skip


def _name(path: object) -> str:
    if isinstance(path, (str, PathLike)):
        return str(path)
    raise UsageError(
        f"a file is named by a string or path, not by a {type(path).__name__}",
        "Each is an argument of its own: l4strace.open(*files).",
    )


def dated(table: pl.DataFrame) -> pl.DataFrame:
    """A table of a run with its moments as dates (UTC): the column `start_ns` becomes `start`."""
    from l4strace import run

    return run.dated(table)


def sweep(*sources: str | PathLike[str], **options: Any) -> Study:
    """Measures many runs as `l4strace sweep` does, with the options of `notebook.sweep`."""
    from l4strace.comparison import notebook

    return notebook.sweep(*map(_name, sources), **options)


def compare(*compared: Study | str | PathLike[str], **options: Any) -> Compared:
    """Compares two studies, or of one two values of a parameter (``by``, ``of``)."""
    from l4strace.comparison import notebook

    return notebook.compare(*compared, **options)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """`Run` and `Study`, imported on demand because they import polars."""
        if name == "Run":
            from l4strace.run import Run

            return Run
        if name == "Study":
            from l4strace.comparison.notebook import Study

            return Study
        raise AttributeError(f"module 'l4strace' has no attribute {name!r}")
