"""The colours of the page: Okabe and Ito's set, one colour and one dash per meaning, everywhere.

Figures carry the light value; the page swaps each for its dark value when the theme is dark, so a
figure looks the same in a notebook and on the page. CE has the most salient colour of the set.
"""

from __future__ import annotations

from typing import NamedTuple


class Stroke(NamedTuple):
    """How one meaning is drawn: ``light`` and ``dark`` are its hex colours, ``dash`` plotly's."""

    light: str
    dark: str
    dash: str = "solid"


CE = Stroke("#d55e00", "#ff8a3d")
ECT1 = Stroke("#0072b2", "#4aa8e0")
ECT0 = Stroke("#007a5a", "#2fbf94", "dash")
NOT_ECT = Stroke("#6b7280", "#9aa3b0", "dot")

RECORDED = Stroke("#14181f", "#f2f4f7")
"""What the kernel recorded: drawn wide and first, so that what agrees with it lies within it."""
REPLAYED = Stroke("#0073b3", "#4ba9e1", "dash")
"""What correct code would have computed, replayed."""
BUGGY = Stroke("#a8488a", "#e08fc4", "dot")
"""What the build with the scaling bug would have computed, replayed."""

MEASURED = Stroke("#0074b4", "#4caae2")
"""What the packets show."""
SECOND = Stroke("#b87900", "#efb030", "dash")
"""A second measured quantity in the same chart."""
LOSS = Stroke("#a8478b", "#e08ec5")
REFERENCE = Stroke("#5f6672", "#a7afbb", "dash")
"""A threshold that a curve is held against."""

SEVERITIES = {
    "error": Stroke("#b3261e", "#ff8f85"),
    "warning": Stroke("#8a5200", "#f2b84b"),
    "notice": Stroke("#0a5fa8", "#7cc0f5"),
    "info": Stroke("#5a6472", "#a3acb9"),
}
"""The words of severities, and the stretches of time that findings shade in charts."""

FLOWS = (
    Stroke("#0075b5", "#4dabe3"),
    Stroke("#b87a00", "#efb131", "dash"),
    Stroke("#007b5b", "#30c095", "dot"),
    Stroke("#a8498c", "#e090c6", "dashdot"),
    Stroke("#6b7281", "#9aa3b1", "longdash"),
    Stroke("#2a8fbd", "#7cc4ec", "longdashdot"),
)
"""One stroke per flow where flows are compared."""

STROKES = {
    "ce": CE,
    "ect1": ECT1,
    "ect0": ECT0,
    "not-ect": NOT_ECT,
    "recorded": RECORDED,
    "replayed": REPLAYED,
    "buggy": BUGGY,
    "measured": MEASURED,
    "second": SECOND,
    "loss": LOSS,
    "reference": REFERENCE,
    **SEVERITIES,
    **{f"flow-{number}": stroke for number, stroke in enumerate(FLOWS)},
}
"""Every stroke by the name that it has as a CSS variable of the page."""


def dark_of_light() -> dict[str, str]:
    """The colour that takes each light colour's place in the dark theme."""
    return {stroke.light: stroke.dark for stroke in STROKES.values()}


def faint(stroke: Stroke, share: float = 0.16) -> str:
    """The stroke's light colour with eight hex digits, for bands under a line."""
    return f"{stroke.light}{round(share * 255):02x}"
