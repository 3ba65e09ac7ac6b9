"""Charts of one flow direction, as plotly figures: one module per chart, listed here.

Each module has ``NAME`` (its id on the page), ``TITLE``, ``draw(direction)`` (null when the data
holds nothing to draw) and ``describe(direction)``, the chart in words.
"""

from __future__ import annotations

from types import ModuleType

from l4strace.page.figures import (
    alpha,
    classic_ecn,
    codepoints,
    depth_steps,
    deviation_steps,
    goodput,
    marks,
    queue,
    reductions,
    rtt,
    score_histogram,
    window,
)

TIMELINES: tuple[ModuleType, ...] = (
    goodput,
    classic_ecn,
    queue,
    rtt,
    marks,
    codepoints,
    alpha,
    window,
    reductions,
)
"""Charts over time, in the order of the page."""

DETECTOR: tuple[ModuleType, ...] = (depth_steps, deviation_steps, score_histogram)
"""The plots that show whether the fallback's detector was right."""

FIGURES: dict[str, ModuleType] = {module.NAME: module for module in (*TIMELINES, *DETECTOR)}
