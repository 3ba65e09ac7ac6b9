"""The share of the window that each reduction gave up, against the laws that could explain it."""

from __future__ import annotations

import polars as pl

from l4strace.page.direction import Direction
from l4strace.page.drawing.figure import Figure
from l4strace.page.drawing.layout import reference, timeline
from l4strace.page.drawing.palette import CE, ECT1, LOSS, MEASURED, NOT_ECT, Stroke
from l4strace.page.drawing.series import dots, points_of
from l4strace.prague.constants import CUT_FLOOR
from l4strace.wording.amounts import share
from l4strace.wording.quantities import count

NAME = "reductions"
TITLE = "Reductions of the window"

ONE_HALF_PERCENT = (50.0, "50 %: one half")
"""What Reno gives up (RFC 5681)."""
FLOOR = (100 * CUT_FLOOR, f"{100 * CUT_FLOOR:.2f} %: the fallback's floor")
"""0.625 / 2: what Prague gives up at least once its fallback is fully active (tcp_prague.c)."""
CUBIC = (30.0, "30 %: CUBIC")
"""1 - beta_cubic (RFC 9438 section 4.6)."""

LAWS = (
    ("alpha/2", "alpha/2 (scalable)", ECT1, "circle"),
    ("floor", "the fallback's floor", CE, "diamond"),
    ("half", "one half", LOSS, "square"),
    ("none", "none of Prague's laws", NOT_ECT, "x-thin-open"),
)


def draw(direction: Direction) -> Figure | None:
    """One marker per reduction, by the law that explains it."""
    traces = [
        dots(points_of(own, "fraction", direction.points, 100), name, stroke, symbol)
        for own, name, stroke, symbol in _by_law(direction)
    ]
    if not traces:
        return None
    figure = timeline(traces, "% given up", direction.axis, range=[0, 60])
    for value, name in (ONE_HALF_PERCENT, FLOOR if direction.scalable else CUBIC):
        reference(figure, value, name)
    return figure


def describe(direction: Direction) -> str:
    """The chart in words."""
    cuts = direction.reductions
    recorded = bool((cuts["origin"] == "kernel").any())
    origin = "recorded by the kernel" if recorded else "estimated from packets"
    text = f"{count(cuts.height, 'reduction')} {origin}"
    if direction.scalable:
        # Of an estimated reduction only the size is known.
        by = "by" if recorded else "as"
        counts = [
            (int(own["proven"].sum()), own.height, name) for own, name, *_ in _by_law(direction)
        ]
        parts = [f"{proven:,} {by} {name}" for proven, _, name in counts if proven]
        parts += [
            f"{drawn - proven:,} as {name} if the window grew before the log shows it"
            for proven, drawn, name in counts
            if drawn > proven
        ]
        return f"{text}: {', '.join(parts)}."
    middle = share(cuts["fraction"].median(), 1)  # type: ignore[arg-type]
    return f"{text}; median {middle} of the window given up."


def _by_law(direction: Direction) -> list[tuple[pl.DataFrame, str, Stroke, str]]:
    """The reductions of each law that occurs; Prague's laws do not apply to another sender."""
    cuts = direction.reductions
    if not direction.scalable:
        return [(cuts, "reduction", MEASURED, "circle")] if cuts.height else []
    by_law = cuts.partition_by("law", as_dict=True)
    return [
        (by_law[(law,)], name, stroke, symbol)
        for law, name, stroke, symbol in LAWS
        if (law,) in by_law
    ]
