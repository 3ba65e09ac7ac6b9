"""Where values lie on an axis, and which of them are written there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

MOST_TICKS = 6
HEADROOM = 0.05
"""Part of the range that is left above the largest value."""


class Scale(NamedTuple):
    """An axis from ``low`` to ``high``; ``ticks`` are values with their texts."""

    low: float
    high: float
    log: bool
    ticks: tuple[tuple[float, str], ...]

    def place(self, value: float) -> float:
        """0 at the low end, 1 at the high one; beyond both for what lies outside."""
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log10(low), math.log10(high), math.log10(max(value, self.low))
        return (at - low) / (high - low)


def scale(values: Iterable[float], axis: Mapping[str, Any]) -> Scale:
    """The axis of a layout for ``values``, as plotly would choose it."""
    finite = [value for value in values if math.isfinite(value)]
    if axis.get("type") == "log":
        return _logarithmic([value for value in finite if value > 0])
    low, high = axis.get("range") or _range(finite, axis.get("rangemode") == "tozero")
    if "tickvals" in axis:
        texts = axis.get("ticktext") or map(_text, axis["tickvals"])
        return Scale(low, high, False, tuple(zip(axis["tickvals"], texts, strict=True)))
    suffix = axis.get("ticksuffix", "")
    ticks = tuple((value, _text(value) + suffix) for value in _round_values(low, high))
    return Scale(low, high, False, ticks)


def _range(values: list[float], from_zero: bool) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = (high - low) * HEADROOM or max(abs(high), 1.0) * HEADROOM
    return (low if from_zero and low == 0 else low - room), high + room


def _round_values(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, a handful of them."""
    rough = (high - low) / MOST_TICKS
    power: float = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def _logarithmic(values: list[float]) -> Scale:
    low, high = min(values, default=1.0), max(values, default=10.0)
    low, high = low / 1.1, high * 1.1
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if len(decades) <= MOST_TICKS else (1,)
    every = [factor * 10.0**decade for decade in decades for factor in factors]
    return Scale(low, high, True, tuple((v, _text(v)) for v in every if low <= v <= high))


def _text(value: float) -> str:
    return f"{round(value, 10):,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
