"""The score that packets give with correct thresholds: above 8 for certain, or perhaps."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from l4strace.derive.vantage import once, scalable
from l4strace.evidence import Evidence
from l4strace.fallback.direction import Direction, typed
from l4strace.fallback.time_above import in_time, time_share
from l4strace.prague.constants import SCALABLE_THRESHOLD
from l4strace.schema.keys import DIRECTION, KEY


@dataclass(frozen=True, slots=True)
class Replayed:
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


def replayed(evidence: Evidence) -> dict[Direction, Replayed]:
    """The replayed score of each ECT(1) sender, seen nearest to it."""
    packets = once(evidence, evidence.detector.filter(pl.col("origin") == "packets"))
    packets = packets.join(scalable(evidence), on=KEY, how="semi", maintain_order="left")
    if packets.is_empty():
        return {}
    score = pl.col("score_fixed")
    above, may_be = (
        pl.coalesce(f"score_fixed_{end}", score) > SCALABLE_THRESHOLD for end in ("lo", "hi")
    )
    steps = in_time(packets, above=above, may_be=may_be, ts_above=pl.when(above).then("ts_ns"))
    summary = steps.group_by(DIRECTION, maintain_order=True).agg(
        pl.col("source").first(),
        time_share("above").alias("time"),
        time_share("may_be").alias("time_most"),
        pl.col("crossed").sum().alias("crossings"),
        score.min().alias("least"),
        score.max().alias("most"),
        pl.col("ts_above").min().alias("since_ns"),
        pl.col("mdev_us", "depth_us").median(),
    )
    return typed(summary.drop_nulls("most"), Replayed)
