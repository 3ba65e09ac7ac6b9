"""Rates of each path slot by slot: what `native/src/measure/slots.rs` finds."""

from __future__ import annotations

import polars as pl

from l4strace.derive import numbers
from l4strace.derive.measured import measured
from l4strace.evidence import Capture, kept
from l4strace.schema.keys import PATH


@kept
def slots(capture: Capture) -> pl.DataFrame:
    """One row a slot of each path that carried enough, with `source` and `path`."""
    found = pl.DataFrame(measured(capture).slots())
    named = numbers.named(capture)
    return named.select("at", *PATH).join(found, on="at", maintain_order="right").drop("at")
