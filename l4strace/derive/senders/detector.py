"""The `detector` table: each step of Prague's classic-ECN detector, recorded and replayed.

From a kernel log the recorded inputs are replayed with the correct and with the buggy references;
from packets alone the tracker has replayed RTT filters and score per round (`rounds`).
"""

from __future__ import annotations

import polars as pl

from l4strace.derive.measured import measured
from l4strace.derive.senders.steps import Logged, logged
from l4strace.evidence import Capture
from l4strace.schema.evidence import DETECTOR
from l4strace.schema.keys import DIRECTION


def table(capture: Capture) -> pl.DataFrame:
    """All steps of all flow directions that may run Prague, by flow and time."""
    parts = [_kernel_steps(part) for part in logged(capture)]
    steps = _packet_steps(capture)
    if not parts:
        return steps
    return pl.concat([*parts, steps]).sort(*DIRECTION, "origin", "ts_ns", maintain_order=True)


def _kernel_steps(part: Logged) -> pl.DataFrame:
    if part.steps.is_empty():
        return DETECTOR.empty()
    unit = pl.lit(None if part.bits is None else float(1 << part.bits), dtype=pl.Float64())
    depth = pl.col("srtt_us") - pl.col("min_rtt_us").cast(pl.Int64)
    return DETECTOR.conform(
        part.steps.select(
            "source",
            "ts_ns",
            "mdev_us",
            "exact",
            "residue",
            "build",
            flow=pl.lit(part.flow),
            forward=pl.lit(part.forward),
            origin=pl.lit("kernel"),
            depth_us=depth.clip(lower_bound=0),
            score=pl.col("before") / unit,
            score_after=pl.col("after") / unit,
            score_fixed="fixed",
            score_buggy="buggy",
        )
    )


def _packet_steps(capture: Capture) -> pl.DataFrame:
    """Rounds of ECT(1) senders from the first CE on; the replayed score before each round."""
    steps = pl.DataFrame(measured(capture).detector())
    return DETECTOR.conform(steps.with_columns(origin=pl.lit("packets"), exact=pl.lit(False)))
