"""One log in whatever dialect it is, with the clock that a `clock.txt` beside it states."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from l4strace.errors import InputError, reason
from l4strace.ingest import files, untrusted
from l4strace.ingest.logs import sniff
from l4strace.ingest.logs.samples import IDENTITY, Log, bounded
from l4strace.schema.words import Stat
from l4strace.wording.quantities import count

STATED = re.compile(r"realtime_minus_monotonic_ns\s+(-?\d+)(?:\s+uncertainty_ns\s+(\d+))?")

MOST_DIGITS = 30
NAMES = ("sk", "event", "cc", *(name for name, kind in IDENTITY.items() if kind == pl.String))
"""Text columns of samples that people get to see."""
DIRTY = untrusted.CONTROL + f"|.{{{untrusted.MOST_TEXT + 1}}}"
"""Names that are refused: with control characters, or too long."""


def read(path: str) -> Log:
    """Reads one log in whatever dialect it is."""
    try:
        log = sniff.reader(path, files.head(path))(path)
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: {reason(error)}") from error
    take_stated_clock(log)
    return _within_bounds(log)


def _within_bounds(log: Log) -> Log:
    """``log`` with times that 64 bits can be reckoned with, and names on one line.

    Raises InputError when no record is left of a log that had some.
    """
    lost = log.samples.height
    far = untrusted.FARTHEST_NS
    log.samples = log.samples.filter(pl.col("ts_ns").is_between(-far, far))
    lost -= log.samples.height
    log.lose(Stat.LINES_UNREAD, lost, "loss", "Samples whose time no clock can show.")
    log.samples, odd = bounded(log.samples)
    log.lose(Stat.LINES_UNREAD, odd, "info", "Values that no kernel can have.")
    bad = sum(lines for name, lines, *_ in log.stats if name == Stat.LINES_UNREAD)
    log.qdiscs = log.qdiscs.filter(pl.col("ts_ns").is_between(-far, far))
    if bad and log.samples.is_empty() and log.qdiscs.is_empty() and not log.aggregates:
        raise InputError(f"{log.path}: {count(bad, 'record')}, and none can be read")
    log.samples = _clean(log.samples, NAMES)
    log.qdiscs = _clean(log.qdiscs, ("interface", "kind", "handle"))
    log.comment = untrusted.text(log.comment)
    return log


def _clean(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """``frame`` with the texts of the columns ``names`` on one line, and not too long."""
    for name in names:
        if frame[name].unique().str.contains(DIRTY).any():
            clean = pl.col(name).str.replace_all(untrusted.CONTROL, "?")
            frame = frame.with_columns(clean.str.head(untrusted.MOST_TEXT))
    return frame


def take_stated_clock(log: Log) -> None:
    """Takes the offset from a `clock.txt` beside the log, if the log itself has none."""
    if log.unix_offset_ns is not None:
        return
    for path in clock_files(log.path):
        if clock := stated_clock(path):
            log.clock = "monotonic"
            log.unix_offset_ns, log.uncertainty_ns = clock
            return


def clock_files(path: str) -> tuple[Path, ...]:
    """Where the clock of the log ``path`` may be stated; the nearer name comes first."""
    folder = Path(path).parent
    return () if path == "-" else (folder / f"{files.stem(path)}.clock.txt", folder / "clock.txt")


def stated_clock(path: Path) -> tuple[int | None, int] | None:
    """Offset and uncertainty in ns that the file states; null when it states none."""
    try:
        found = STATED.search(path.read_text(errors="replace")[:4096])
    except OSError:
        return None
    if found is None:
        return None
    offset = untrusted.time_ns(int(found[1][:MOST_DIGITS]))
    return offset, untrusted.time_ns(int((found[2] or "0")[:MOST_DIGITS])) or 0
