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
    """Its rows of `kernel`: `alpha_bits` and the columns of `replay.NEEDED`."""
    bits: int | None
    """PRAGUE_ALPHA_BITS; null where the log does not determine it."""
    steps: pl.DataFrame
    """Columns of `replay.INPUTS`, `replay.replayed` and `replay.identified`."""


@kept
def logged(capture: Capture) -> tuple[Logged, ...]:
    """Every flow direction with samples, by its first sample."""
    samples = capture.kernel.select("flow", "forward", "alpha_bits", *replay.NEEDED)
    known = samples.filter(pl.col("flow").is_not_null() & pl.col("forward").is_not_null())
    return tuple(_logged(part) for part in known.partition_by(KEY, maintain_order=True))


def _logged(samples: pl.DataFrame) -> Logged:
    source, flow, forward = samples.select(KEY).row(0)
    widths = samples["alpha_bits"].drop_nulls()
    bits = int(widths[0]) if widths.len() else None
    steps = replay.identified(replay.replayed(replay.recorded(samples)), bits)
    return Logged(source, flow, forward, samples, bits, steps)
