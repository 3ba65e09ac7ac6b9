"""One clock for the run: the captures' Unix time.

A log brings the offset of its clock in its header, or a `clock.txt` beside it does
(`realtime_minus_monotonic_ns N uncertainty_ns M`). Where captures show the same sockets, the
acknowledgement numbers of packets and the snd_una of samples are matched: that gives the offset
when nobody states it, and checks it when somebody does. What does not fit is not joined.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import polars as pl

from l4strace.evidence import Capture
from l4strace.ingest import file_names
from l4strace.ingest.join import matching
from l4strace.ingest.logs.samples import Log
from l4strace.schema.vantage import distance
from l4strace.schema.words import CAPTURES, Stat

DRIFT_NS = 10_000_000
"""More than this between a log's ends is a clock that was set: drift is below 1e-4."""
STEP_NS = 50_000_000
"""More than this between matched parts of the run is a clock that was set; a queue blurs the
match."""
RESIDUAL_NS = 10_000_000
"""Matched events that lie farther apart are not put on one time line: that is a whole round."""
STATED_NS = 500_000_000
"""A stated offset farther than this from the matched one is another boot's."""


class Placement(NamedTuple):
    """Where a log goes on the run's clock; ``refused`` is why it is not joined to flows."""

    offset_ns: int
    residual_ns: int | None = None
    refused: str | None = None


def place(log: Log, samples: pl.DataFrame, found: pl.DataFrame, capture: Capture) -> Placement:
    """Puts ``samples`` on the run's clock; ``found`` holds their candidate flows."""
    stated = log.unix_offset_ns
    end = log.end_offset_ns
    if stated is not None and end is not None and abs(end - stated) > DRIFT_NS:
        log.lose(Stat.CLOCK_STEPS, 1, "loss", _set(end - stated))
        return Placement(stated, refused="its clock was set while it ran")
    if found.is_empty():
        return Placement(stated or 0)
    near = _nearest(capture, found)
    seen = matching.match(samples, found, near) if near else matching.Match(0, 0)
    if seen.contradicts:
        why = f"{seen.looked_for:,} acknowledgements of the log are not in the packets"
        return Placement(stated or 0, refused=f"{why}: ports agree by chance, or another host")
    if seen.offset_ns is None:
        unknown = None if stated is not None else "its clock has no offset, and too little matches"
        return Placement(stated or 0, refused=unknown)
    return _measured(log, seen, seen.offset_ns)


def _set(by_ns: int) -> str:
    """The step as a sentence. Unix time minus the log's clock grows when Unix time is set ahead."""
    where = "forwards" if by_ns > 0 else "back"
    return f"Set {where} by {abs(by_ns) / 1e6:,.0f} ms."


def _measured(log: Log, seen: matching.Match, offset: int) -> Placement:
    residual = seen.residual_ns or 0
    if seen.step_ns > STEP_NS:
        log.lose(
            Stat.CLOCK_STEPS, 1, "loss", f"Captures and log part by {seen.step_ns / 1e6:,.0f} ms."
        )
        return Placement(offset, residual, "one of the two clocks was set during the run")
    if residual > RESIDUAL_NS:
        return Placement(offset, residual, f"matched events lie {residual / 1e6:,.1f} ms apart")
    return beside_stated(log, offset, residual)


def beside_stated(log: Log, offset: int, residual: int) -> Placement:
    """The offset that packets show; the one that the log states, where they do not contradict."""
    stated = log.unix_offset_ns
    if stated is None:
        return Placement(offset, residual)
    if abs(offset - stated) > STATED_NS:
        apart = f"The log's clock offset is {(stated - offset) / 1e9:+,.3f} s off the packets'."
        log.lose(Stat.CLOCK_OFFSET_WRONG, 1, "info", apart)
        return Placement(offset, residual)
    return Placement(stated, max(residual, abs(offset - stated)))


def _nearest(capture: Capture, found: pl.DataFrame) -> Capture | None:
    """The capture of one source whose place is nearest to the logged senders; None without any.

    Matching reads its packets once more, which a pipe does not allow.
    """
    captures = capture.sources.filter(pl.col("kind").is_in(CAPTURES))
    again = pl.Series([file_names.read_twice(path) for path in captures["path"]], dtype=pl.Boolean)
    files = captures.filter(again)
    seen = (
        capture.flows.join(found.select("flow", "forward").unique(), on="flow")
        .filter(pl.col("source").is_in(files["source"].implode()))
        .sort(distance(), "source")
    )
    if seen.is_empty():
        return None
    return replace(capture, sources=files.filter(pl.col("source") == seen["source"][0]))
