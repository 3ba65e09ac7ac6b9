"""Measures in words: a name, the value with its unit, and what was expected.

A flow's queue delay has one name for each way to measure it: no two values share one.
"""

from __future__ import annotations

from l4strace.model import Measure
from l4strace.wording.quantities import quantity

OF_PACKETS = "queue delay of packets, median"
"""Each packet has the mean queue delay of its round."""
OF_ROUNDS = "queue delay of steady rounds, median"
"""What decides the kind of bottleneck: rounds after slow start, whatever they carried."""
ONE_WAY = "queue delay one way, median"
"""Between two captures, of the packets that both have."""


def value(measure: Measure) -> str:
    """`412 us`."""
    return quantity(measure.value, measure.unit)


def line(measure: Measure) -> str:
    """`queue delay: 412 us (expected at most 2 ms)`."""
    expected = f" (expected {measure.expected})" if measure.expected else ""
    return f"{measure.name}: {value(measure)}{expected}"
