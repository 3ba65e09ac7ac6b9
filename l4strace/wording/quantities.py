"""Numbers with units, the same on terminal, page and ticket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_SCALES = {
    "us": ((1e6, "s"), (1e3, "ms"), (1.0, "us")),
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")),
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "byte": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")),
}

COUNTED = ("packet",)
"""Units that are things: more than one has an s."""


def quantity(value: float | int | str, unit: str = "") -> str:
    """``value`` with its unit in the size that reads best: 10450.0 us -> `10.4 ms`."""
    if isinstance(value, str):
        return value
    if unit == "%" or unit == "share":
        return share(value if unit == "share" else value / 100)
    for size, name in _SCALES.get(unit, ()):
        if abs(value) >= size:
            return f"{digits(value if size == 1 else value / size)} {name}"
    number = digits(value)
    plural = "s" if unit in COUNTED and number != "1" else ""
    return f"{number} {unit}{plural}" if unit else number


NO_QUEUE_US = 100.0
"""Queue delay below which there may be none: no smallest RTT is nearer to that of an empty path."""


BELOW = "below "
"""Opens a delay of which only an upper bound is known."""
NOISY_US = 1250.0
"""Delay that noise can add from which a shorter one is not sure: of 0.5 ms of jitter."""


def queue_delay(us: float) -> str:
    """`5.55 ms`, or `below 100 us`, where a number would claim more than an RTT shows."""
    return quantity(us, "us") if us >= NO_QUEUE_US else f"{BELOW}{quantity(NO_QUEUE_US, 'us')}"


def at_delay(delay: str) -> str:
    """`at 5.55 ms`, or `below 100 us`: a delay in words as the place of something."""
    return delay if delay.startswith(BELOW) else f"at {delay}"


def milliseconds(us: float) -> str:
    """`0.4 ms`, `185 ms`; `below 0.1 ms` where one decimal would leave nothing."""
    ms = us / 1000
    if ms >= 100:
        return f"{ms:,.0f} ms"
    return f"{ms:.1f} ms" if ms >= 0.05 else f"{BELOW}0.1 ms"


def marking_delay(row: Mapping[str, Any]) -> str:
    """The delay at which marks set in, no more precise than the capture shows it.

    A queue grows by packets, so a threshold below one packet's time shows as some part of it; and
    noise that is larger than the delay moves it by as much.
    """
    us, noise = row["marking_delay_us"], row.get("noise_us") or 0.0
    packet = row.get("serialisation_us") or 0.0
    if us < packet and packet >= NO_QUEUE_US:
        return f"{BELOW}{quantity(packet, 'us')} (one packet)"
    if NO_QUEUE_US <= us < noise and noise >= NOISY_US:
        return f"about {quantity(float(f'{us:.1g}'), 'us')}"
    return queue_delay(us)


def digits(value: float | int) -> str:
    """Three significant digits, thousands separated; integers whole."""
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    if value == 0:
        return "0"
    text = f"{value:.3g}"
    return f"{value:.6f}".rstrip("0") if "e" in text else text


WHOLE_PERCENT = 100 - 1e-9
"""Percent from which nothing is missing: sums of fractions round."""


def share(value: float) -> str:
    """A share of 1 in percent: 0.0123 -> `1.2 %`. 100 % is all, to the last one."""
    percent = 100 * value
    if 99.5 <= percent < WHOLE_PERCENT:
        return f"{min(percent, 99.9):.1f} %"
    return f"{percent:.0f} %" if percent >= 10 or percent == 0 else f"{percent:.2g} %"


def listed(parts: Sequence[str]) -> str:
    """`0`, `0 and 1`, `0, 1 and 4`."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def count(number: int, noun: str) -> str:
    """`1 flow`, `2,000 flows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
