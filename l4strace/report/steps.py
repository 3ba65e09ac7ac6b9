"""Detector inputs in words."""

from __future__ import annotations

import polars as pl

from l4strace.report.names import counted, duration, share


def told(values: pl.Series, reference_us: float) -> str:
    """How many steps lay below the reference, and where their middle was."""
    present = values.drop_nulls()
    steps = counted(present.len(), "step")
    if not present.len():
        return "No detector step."
    below = share(int((present < reference_us).sum()), present.len())
    middle = duration(present.median())  # type: ignore[arg-type]
    return f"{steps}: median {middle}, {below} below the reference of {duration(reference_us)}."
