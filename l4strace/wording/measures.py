"""Measures in words: a name, the value with its unit, and what was expected."""

from __future__ import annotations

from l4strace.model import Measure
from l4strace.wording.quantities import quantity


def value(measure: Measure) -> str:
    """`412 us`."""
    return quantity(measure.value, measure.unit)


def line(measure: Measure) -> str:
    """`queue delay: 412 us (expected at most 2 ms)`."""
    expected = f" (expected {measure.expected})" if measure.expected else ""
    return f"{measure.name}: {value(measure)}{expected}"
