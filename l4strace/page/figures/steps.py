"""One input of the detector against its reference, as a chart and in words."""

from __future__ import annotations

import polars as pl

from l4strace.page.direction import Direction
from l4strace.page.drawing.figure import Figure
from l4strace.page.drawing.layout import reference, timeline
from l4strace.page.drawing.palette import MEASURED
from l4strace.page.drawing.series import dots, points_of
from l4strace.wording.amounts import duration, share
from l4strace.wording.quantities import count


def drawn(direction: Direction, column: str, name: str, reference_us: int) -> Figure | None:
    """One dot per detector step, and the reference as a line; null without steps."""
    steps = points_of(direction.detector, column, direction.points)
    if not steps:
        return None
    figure = timeline([dots(steps, name, MEASURED)], "µs", direction.axis)
    reference(figure, reference_us, f"{reference_us} µs: above is classic")
    return figure


def described(values: pl.Series, reference_us: float) -> str:
    """Median of the steps and the share of them below the reference."""
    present = values.drop_nulls()
    steps = count(present.len(), "step")
    if not present.len():
        return "No detector steps."
    below = share(int((present < reference_us).sum()), present.len())
    middle = duration(present.median())  # type: ignore[arg-type]
    return f"{steps}: median {middle}, {below} below the reference of {duration(reference_us)}."
