"""Amounts as the page shows them: a dash where the data holds nothing, and the micro sign."""

from __future__ import annotations

import re

from l4strace.wording import quantities
from l4strace.wording.wrap import GLUE, UNIT

NONE = "\N{EN DASH}"
"""Text in place of a value that the data does not hold."""


def micro(text: str) -> str:
    """``text`` with ``12 us`` as ``12 µs``: messages of rules keep to what every terminal has."""
    return re.sub(r"(?<=\d )us\b", "µs", text) if " us" in text else text


def typeset(text: str) -> str:
    """A sentence for the page: with the micro sign, and no line that ends before a unit."""
    return UNIT.sub(GLUE, micro(text))


def quantity(value: float | int | str, unit: str = "") -> str:
    """`quantities.quantity` with the micro sign."""
    return micro(quantities.quantity(value, unit))


def number(value: float | int | None) -> str:
    """A plain number."""
    return NONE if value is None else quantity(value)


def duration(us: float | None) -> str:
    """Microseconds as µs, ms or s."""
    return NONE if us is None else quantity(us, "us")


def data_size(count: int | None) -> str:
    """Bytes with a decimal prefix."""
    return NONE if count is None else quantity(count, "byte")


def bit_rate(bps: float | None) -> str:
    """Bits per second with a decimal prefix."""
    return NONE if bps is None else quantity(bps, "bit/s")


def share(part: float | None, whole: float | None) -> str:
    """``part`` of ``whole`` in percent."""
    return NONE if part is None or not whole else quantities.share(part / whole)
