"""The smallest effect of interest: `--at-least 5%`, `--at-least l4s_queue_delay=2ms`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from l4strace.errors import UsageError
from l4strace.studies.cells import unit
from l4strace.studies.parameters import quantity

EXAMPLE = "Example: --at-least 5% or --at-least l4s_queue_delay=2ms."


@dataclass(frozen=True)
class Least:
    """Differences up to ``value`` are of no interest."""

    value: float
    relative: bool
    """``value`` is a part of the first side's mean."""

    def of_cells(self, pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> list[float]:
        """The smallest effect of interest of each cell."""
        if not self.relative:
            return [self.value] * len(pairs)
        return [abs(fmean(before)) * self.value for before, _ in pairs]


def of(texts: Sequence[str], names: Sequence[str]) -> dict[str, Least]:
    """The smallest effects of the measures ``names``; without a name a text is of all of them.

    A share is in points of percent, any other measure with a percent sign in parts of its mean.
    Raises UsageError for a text that is neither.
    """
    found: dict[str, Least] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if equals and name not in names:
            raise UsageError(
                f"--at-least {text!r} names no measure", f"Measures: {', '.join(names)}."
            )
        for one in [name] if equals else names:
            if (least := _least(value, one)) is not None:
                found[one] = least
            elif equals:
                raise UsageError(
                    f"--at-least {text!r}: {one} is in {unit(one) or 'no unit'}", EXAMPLE
                )
        if not equals and not any(_least(value, one) for one in names):
            raise UsageError(f"--at-least {text!r} is not a number with a unit", EXAMPLE)
    return found


def _least(text: str, name: str) -> Least | None:
    own = unit(name)
    try:
        return Least(abs(float(text)), relative=False)
    except ValueError:
        pass
    made = quantity(text)
    if made is None:
        return None
    value, given = made
    if given == "share":
        return Least(value, relative=own != "share")
    if {given, own} == {"us", "s"}:
        value *= 1e-6 if own == "s" else 1e6
    elif given != own:
        return None
    return Least(value, relative=False)
