"""Detector steps of each logged flow direction, replayed once for all tables that need them."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from l4strace.evidence import Capture, kept
from l4strace.prague import replay
from l4strace.schema.keys import KEY


class Logged(NamedTuple):
    """One flow direction of one log."""

    source: int
    flow: int
    forward: bool
    samples: pl.DataFrame
    """Rows of `kernel` of this socket: `alpha_bits` and the columns of `replay.STEP_COLUMNS`."""
    bits: int | None
    """PRAGUE_ALPHA_BITS; null where the log does not determine it."""
    steps: pl.DataFrame
    """Columns of `replay.INPUTS`, `replay.replayed` and `replay.identified`."""


@kept
def logged(capture: Capture) -> tuple[Logged, ...]:
    """Flow directions whose samples show a detector or the scale of an alpha, by first sample."""
    samples = capture.kernel.select("flow", "forward", "alpha_bits", *replay.STEP_COLUMNS)
    known = samples.filter(pl.col("flow").is_not_null() & pl.col("forward").is_not_null())
    # In one query for all: a log of other congestion controls can hold thousands of flows.
    widths = (
        known.group_by(KEY, maintain_order=True)
        .agg(bits=pl.col("alpha_bits").drop_nulls().first(), any=replay.usable().any())
        .filter(pl.col("bits").is_not_null() | pl.col("any"))
    )
    if widths.is_empty():
        return ()
    shown = known.join(widths.select(KEY), on=KEY, how="semi", maintain_order="left")
    parts = shown.partition_by(KEY, maintain_order=True)
    return tuple(
        Logged(source, flow, forward, part, bits, _steps(part, bits))
        for part, (source, flow, forward, bits, _) in zip(parts, widths.iter_rows(), strict=True)
    )


def _steps(samples: pl.DataFrame, bits: int | None) -> pl.DataFrame:
    return replay.identified(replay.replayed(replay.recorded(samples)), bits)
