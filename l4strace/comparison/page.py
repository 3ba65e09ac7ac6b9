"""The page of a comparison: its sentences, and heat maps of the differences."""

from __future__ import annotations

from typing import Any

import polars as pl
from markupsafe import Markup

from l4strace.comparison import overlay, text
from l4strace.comparison.comparison import Comparison, Measured
from l4strace.comparison.overlay import Side
from l4strace.page import fill
from l4strace.page.drawing import bundle
from l4strace.page.drawing.palette import STROKES, dark_of_light
from l4strace.studies import page

SCRIPTS = ("shared.js", *fill.CHART_SCRIPTS, "compare.js")
"""Parts of the script of the charts; the last starts it."""

LEGEND = (
    "Each cell: the difference of the means, second side minus first. Cells marked as differing "
    "are those that chance does not explain. Choose a cell for its interval."
)


def render(comparison: Comparison, sides: tuple[Side, Side] | None = None) -> str:
    """The page as HTML; ``sides`` are drawn over each other where no parameter
    pairs the runs."""
    first, second = comparison.names
    report = text.render(comparison).splitlines()
    return page.fill(
        "compare.html.j2",
        _data(comparison),
        maps=bool(comparison.parameters),
        overlay=_overlay(sides) if sides and not comparison.parameters else None,
        title=f"{first} / {second}",
        kind="comparison",
        legend=LEGEND,
        headline=report[0],
        constants=[],
        findings=[],
        findings_more=0,
        serious=[],
        notes=[],
        failed=[],
        failed_more=0,
        lines=[_line(line) for line in report[1:] if line],
    )


def _overlay(sides: tuple[Side, Side]) -> dict[str, Any]:
    """What charts over time need, as on the page of a run."""
    charts = overlay.charts(sides)
    return {
        "sides": [{"name": side.name, "about": side.about} for side in sides],
        "charts": charts,
        "phases": overlay.phases(sides),
        "strokes": STROKES,
        "figures": fill.packed(fill.embedded({chart.key: chart.spec for chart in charts})),
        "colours": fill.embedded(dark_of_light()),
        "bundle": Markup(bundle.script()),  # noqa: S704 - base64 of our own
        "scripts": Markup("\n").join(map(fill.asset, SCRIPTS)),
    }


def _line(line: str) -> dict[str, Any]:
    plain = line.lstrip()
    return {"depth": (len(line) - len(plain)) // 2, "text": plain}


def _data(comparison: Comparison) -> dict[str, Any]:
    """What `sweep.js` draws, with cells of each measure in the place of runs."""
    frames = [
        measured.cells.with_columns(measure=pl.lit(measured.name))
        for measured in comparison.measures
    ]
    rows = pl.concat(frames, how="diagonal_relaxed")
    names = comparison.parameters
    units = {measured.name: measured.unit for measured in comparison.measures}
    return {
        "of": "cells",
        "runs": [text.cell_text(row, names, units[row["measure"]]) for row in rows.to_dicts()],
        "pages": [],
        "origins": page.origins(rows),
        "parameters": [made for name in names if (made := page.axis(rows, name))],
        "measures": [_measure(measured, rows) for measured in comparison.measures],
        "differs": {
            measured.name: ((rows["measure"] == measured.name) & rows["differs"])
            .fill_null(False)
            .to_list()
            for measured in comparison.measures
        },
    }


def _measure(measured: Measured, rows: pl.DataFrame) -> dict[str, Any]:
    own = rows.select(pl.when(pl.col("measure") == measured.name).then("difference")).to_series()
    return {
        "name": page.short(measured.name),
        "title": f"change of {measured.title}",
        "doc": f"Difference of {measured.title}, second side minus first.",
        "unit": "points" if measured.unit == "share" else measured.unit,
        "center": 0,
        "values": page.floats(own.to_list()),
    }
