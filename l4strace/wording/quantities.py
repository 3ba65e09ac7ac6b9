"""Numbers with units, the same on terminal, page and ticket."""

from __future__ import annotations

_SCALES = {
    "us": ((1e6, "s"), (1e3, "ms"), (1.0, "us")),
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")),
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "byte": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")),
}


def quantity(value: float | int | str, unit: str = "") -> str:
    """``value`` with its unit in the size that reads best: 10450.0 us -> `10.4 ms`."""
    if isinstance(value, str):
        return value
    if unit == "%" or unit == "share":
        return f"{share(value if unit == 'share' else value / 100)}"
    for size, name in _SCALES.get(unit, ()):
        if abs(value) >= size:
            return f"{digits(value if size == 1 else value / size)} {name}"
    number = digits(value)
    return f"{number} {unit}" if unit else number


NO_QUEUE_US = 100.0
"""Queue delay below which there may be none: no smallest RTT is nearer to that of an empty path."""


def queue_delay(us: float) -> str:
    """`5.55 ms`, or `less than 100 us`, where a number would claim more than an RTT shows."""
    return quantity(us, "us") if us >= NO_QUEUE_US else f"less than {quantity(NO_QUEUE_US, 'us')}"


def digits(value: float | int) -> str:
    """Three significant digits, thousands separated; integers whole."""
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    if value == 0:
        return "0"
    text = f"{value:.3g}"
    return f"{value:.6f}".rstrip("0") if "e" in text else text


def share(value: float) -> str:
    """A share of 1 in percent: 0.0123 -> `1.2 %`."""
    percent = 100 * value
    return f"{percent:.0f} %" if percent >= 10 or percent == 0 else f"{percent:.2g} %"


def count(number: int, noun: str) -> str:
    """`1 flow`, `2,000 flows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
