"""Moments of a run, everywhere as seconds since its first packet: charts, findings, terminal."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import NamedTuple

import polars as pl

from l4strace.evidence import Capture, kept
from l4strace.schema.words import CAPTURES

NANO = 1_000_000_000
UPTIMES = 10 * 365 * 86400
"""Seconds: a clock that shows the first ten years after 1970 counts from boot."""

UNDATED = "on a clock without a date"

CLOSE_S = 0.1
"""Moments nearer to the start than this need milliseconds."""

CLOCKS_S = 0.0005
"""Two clocks may differ by this much at the start without a word: half of what is shown."""


class TimeAxis(NamedTuple):
    """Where zero lies (``origin_ns``, Unix time) and how far the run reaches (``end_ns``)."""

    origin_ns: int
    end_ns: int

    def seconds(self, ns: int) -> float:
        """Seconds since the start of the run."""
        return (ns - self.origin_ns) / NANO

    def column(self, name: str) -> pl.Expr:
        """Column ``name`` of nanoseconds as seconds since the start, named ``x``."""
        return ((pl.col(name) - self.origin_ns) / NANO).alias("x")

    @property
    def length(self) -> float:
        """Seconds from the first record to the last."""
        return max(self.seconds(self.end_ns), 0.0)

    @property
    def start_text(self) -> str:
        """The absolute start, UTC."""
        return utc(self.origin_ns)


def _undated(ns: int) -> bool:
    return 0 <= ns < UPTIMES * NANO


def utc(ns: int) -> str:
    """``ns`` since the epoch in UTC with milliseconds, or the bare number when out of range.

    A kernel log may have only the clock that counts from boot.
    """
    if _undated(ns):
        return f"{ns / NANO:,.3f} s {UNDATED}"
    try:
        date = datetime.fromtimestamp(ns // NANO, tz=timezone.utc)
    except (OverflowError, ValueError, OSError):
        return f"{ns} ns"
    return f"{date:%Y-%m-%d %H:%M:%S}.{ns % NANO // 1_000_000:03d} UTC"


@kept
def axis_of(capture: Capture) -> TimeAxis:
    """The axis of a run: from the first packet to the last, or of the logs when there are none."""
    sources = capture.sources.filter(pl.col("first_ns").is_not_null())
    captures = sources.filter(pl.col("kind").is_in(CAPTURES))
    timed = captures if captures.height else sources
    first, last = timed["first_ns"].min(), timed["last_ns"].max()
    origin = first if isinstance(first, int) else 0
    return TimeAxis(origin, last if isinstance(last, int) else origin)


def span(capture: Capture, first_ns: int, last_ns: int) -> str:
    """A stretch of time on the same axis: `t=5.2 s to t=7.0 s`; a moment is named once."""
    first, last = moment(capture, first_ns), moment(capture, last_ns)
    if first == last and last_ns - first_ns >= NANO // 1000:
        first, last = (_worded(axis_of(capture), ns, 3) for ns in (first_ns, last_ns))
    return first if first == last else f"{first} to {last}"


def moment(capture: Capture, ns: int | None) -> str:
    """``ns`` (Unix time) as on the page's axis: `t=5.2 s`; `t=?` for null.

    A log may begin before the capture: what it recorded then lies before the axis. One that is not
    joined may have a clock without a date, whose moments no axis of packets has.
    """
    if ns is None:
        return "t=?"
    axis = axis_of(capture)
    return _worded(axis, ns, 1 if abs(axis.seconds(ns)) >= CLOSE_S else 3)


def _worded(axis: TimeAxis, ns: int, digits: int) -> str:
    if _undated(ns) and not _undated(axis.origin_ns):
        return f"{ns / NANO:,.{digits}f} s {UNDATED}"
    seconds = axis.seconds(ns)
    if seconds <= -CLOCKS_S:
        return f"{-seconds:.{digits}f} s before the first packet"
    return f"t={max(seconds, 0.0):.{digits}f} s"
