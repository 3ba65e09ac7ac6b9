"""The score that a kernel log records: how often above 8, with which inputs, of which build."""

from typing import NamedTuple

import polars as pl

from l4strace.evidence import Evidence
from l4strace.fallback.direction import Direction, typed
from l4strace.prague.constants import (
    DEPTH_REFERENCE_US,
    MDEV_REFERENCE_US,
    SCALABLE_THRESHOLD,
)
from l4strace.schema.keys import DIRECTION

MIN_SHARE = 0.1
"""Share of the detector's steps from which a state counts. By eye, from the reductions that
Greenscreen23/prague-fallback-experiments traced on the corrected kernel: at most 0.01 of them are
classic behind DualPI2 at 8 Mbit/s and more."""

MAJORITY = 0.5

MIN_STEPS = 20
"""Steps that the detector needs to exceed 8. At a queue delay of 6 ms and a deviation of 2.5 ms it
needs 5 (0.5 * log2(input / threshold) per input and step, prague_classic_ecn_detection); nearer to
the thresholds it needs more: four times as many by eye."""

BUGGY = "24-bit buggy"
"""The build with the scaling bug, as the table `detector` names it."""


class Recorded(NamedTuple):
    """Detector steps that the kernel recorded in one direction."""

    log: int
    steps: int
    share: float
    """Share of the steps with a score above 8."""
    time: float
    """Share of the time with a score above 8."""
    time_since: float
    """Share of the time with a score above 8, from the first such step on."""
    crossings: int
    """How often the score passed 8."""
    since_ns: int | None
    """Time of the first step above 8."""
    last_ns: int
    least: float
    most: float
    """Range of the score."""
    mdev_us: float | None
    depth_us: float | None
    """Medians of the two inputs over all steps."""
    high_mdev_us: float | None
    high_depth_us: float | None
    """Medians of the two inputs over the steps above 8."""
    fixed_share: float
    """Share of the steps above 8 in the replay with the correct thresholds."""
    buggy_share: float
    """Share of the steps above 8 in the replay with the thresholds of the scaling bug."""
    buggy_error: float | None
    """Median error of that replay."""
    right_share: float
    """Share of the steps above 8, replayed with correct thresholds where that is possible."""
    build: str | None
    """The build that most identified steps show."""
    residues: int
    """How many steps show it."""

    @property
    def high(self) -> bool:
        """The score was above 8 for a part of the steps, and of the time, that counts."""
        return self.share >= MIN_SHARE and self.time >= MIN_SHARE

    @property
    def buggy(self) -> bool:
        """The build has the scaling bug."""
        return self.build == BUGGY

    @property
    def inputs_are_high(self) -> bool:
        """Queue delay or RTT deviation of the steps above 8 reach their thresholds."""
        mdev, depth = self.high_mdev_us or 0.0, self.high_depth_us or 0.0
        return mdev >= MDEV_REFERENCE_US or depth >= DEPTH_REFERENCE_US

    @property
    def replay_agrees(self) -> bool:
        """Correct references on the same inputs exceed 8 in half as many steps or more."""
        return self.fixed_share >= max(MIN_SHARE, MAJORITY * self.share)

    @property
    def measured(self) -> bool:
        """The score is high because of what the detector measured, not because of its build.

        Of the buggy build only a replay shows it: one high input may be outweighed by the other.
        """
        return self.replay_agrees or (self.inputs_are_high and not self.buggy)

    @property
    def ran(self) -> bool:
        """The detector ran: its score moved, or a correct one would have stayed low, too."""
        return self.most > 0 or self.fixed_share < MIN_SHARE


def recorded(evidence: Evidence) -> dict[Direction, Recorded]:
    """The recorded score of each direction that has one."""
    found = evidence.detector.filter(
        (pl.col("origin") == "kernel")
        & pl.col("score").is_not_null()
        & pl.col("flow").is_not_null()
    )
    if found.is_empty():
        return {}
    above = pl.col("score") > SCALABLE_THRESHOLD
    # The table has them in the order of direction and time: the next row is the next step.
    same = pl.all_horizontal(pl.col(key) == pl.col(key).shift() for key in DIRECTION)
    ahead = pl.col("ts_ns").shift(-1) - pl.col("ts_ns")
    steps = found.with_columns(
        above=above,
        lasted=pl.when(same.shift(-1)).then(ahead),
        crossed=same & (above != above.shift()),
    )
    summary = steps.group_by(DIRECTION, maintain_order=True).agg(_measures())
    # From one step to the next is all of the time, so from the first one above 8 to the last, too.
    since = pl.col("_above_ns") / (pl.col("last_ns") - pl.col("since_ns"))
    since = since.fill_nan(None).fill_null(pl.col("time"))
    return typed(summary.with_columns(time_since=since), Recorded)


def _measures() -> list[pl.Expr]:
    score, above = pl.col("score"), pl.col("above")
    build = pl.col("build").drop_nulls().mode().sort().first()
    right = pl.coalesce("score_fixed", "score")
    lasted = pl.when("above").then("lasted").sum()
    # That of the steps where there is only one.
    time = (lasted / pl.col("lasted").sum()).fill_nan(None).fill_null(above.mean())
    return [
        pl.col("source").first().alias("log"),
        pl.len().alias("steps"),
        above.mean().alias("share"),
        time.alias("time"),
        lasted.alias("_above_ns"),
        pl.col("crossed").sum().alias("crossings"),
        pl.col("ts_ns").filter(above).min().alias("since_ns"),
        pl.col("ts_ns").max().alias("last_ns"),
        score.min().alias("least"),
        score.max().alias("most"),
        *(pl.col(name).median() for name in ("mdev_us", "depth_us")),
        *(
            pl.col(name).filter(above).median().alias(f"high_{name}")
            for name in ("mdev_us", "depth_us")
        ),
        *(
            (pl.col(f"score_{of}") > SCALABLE_THRESHOLD).mean().fill_null(0.0).alias(f"{of}_share")
            for of in ("fixed", "buggy")
        ),
        (pl.col("score_buggy") - score).abs().median().alias("buggy_error"),
        (right > SCALABLE_THRESHOLD).mean().alias("right_share"),
        build.alias("build"),
        (pl.col("build") == build).sum().alias("residues"),
    ]
