"""The rounds of a run as the native core looks at them: handed over once, for every table."""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.derive import company, numbers
from l4strace.evidence import Capture, kept
from l4strace.schema.keys import KEY
from l4strace.schema.vantage import receiver


@kept
def measured(capture: Capture) -> _native.Measured:
    """Rounds by direction and `round`, and the directions, numbered by row."""
    near = pl.col("vantage").ne_missing(receiver())
    directions = company.directions(capture).select(*KEY, near=near, at=numbers.paths(capture))
    rounds, directions = capture.rounds.rechunk(), directions.rechunk()
    if not _native.Measured.in_order(rounds, directions):
        rounds = rounds.sort(numbers.directions(capture), "round", maintain_order=True)
    return _native.Measured(rounds, directions)
