"""The score that packets give with correct thresholds: above 8 for certain, or perhaps."""

from typing import NamedTuple

import polars as pl

from l4strace.core import _native
from l4strace.derive.vantage import scalable
from l4strace.evidence import Evidence, kept
from l4strace.schema.keys import KEY

STEP = (*KEY, "ts_ns", "score_fixed", "score_fixed_lo", "score_fixed_hi")
INPUTS = ("mdev_us", "depth_us")


class Replayed(NamedTuple):
    """Detector steps replayed from the packets of one direction."""

    source: int
    time: float
    """Share of the time with a score that is above 8 for certain."""
    time_most: float
    """Share of the time with a score that may be above 8: the packets bound the score, and leave
    the clock of the detector open (each round trip, or each 25 ms)."""
    crossings: int
    """How often it passed 8."""
    least: float
    most: float
    """Range of the likeliest score."""
    since_ns: int | None
    """First time above 8."""
    mdev_us: float
    depth_us: float
    """Medians of the two inputs over all rounds."""

    @property
    def never_above(self) -> bool:
        """The packets leave no time above 8: the path gave the score no reason."""
        return self.time_most == 0


@kept
def replayed(evidence: Evidence) -> pl.DataFrame:
    """The replayed score of each ECT(1) sender, seen nearest to it: KEY and the fields above."""
    steps = evidence.detector.filter(origin="packets").select(*STEP, *INPUTS)
    found = pl.DataFrame(_native.scores(steps.rechunk(), scalable(evidence).rechunk()))
    return found.drop_nulls("most")
