"""Notes that a collector wrote into its log, such as a struct prague of unknown layout."""

from __future__ import annotations

import polars as pl

from l4strace.evidence import Capture
from l4strace.schema.words import Stat


def of_source(capture: Capture, source: int) -> list[str]:
    """Notes of the collector in ``source``, in the order of the log."""
    mine = (pl.col("name") == Stat.NOTE) & (pl.col("source") == source)
    return capture.stats.filter(mine)["detail"].drop_nulls().to_list()
