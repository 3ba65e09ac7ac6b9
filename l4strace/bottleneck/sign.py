"""A sign: one question about the evidence, with a threshold. True, false, or unknown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from math import isnan
from typing import NamedTuple

from l4strace.bottleneck.evidence import Direction, Neighbors
from l4strace.wording.quantities import at_delay, quantity


class Shown(NamedTuple):
    """The answer of a sign, and the number that decided it."""

    true: bool | None
    value: float | None = None
    threshold: float | None = None
    bound: str = ""
    """`at least`, `at most`, `above` or `below`: the side of the threshold on which it is true."""
    words: str = ""
    """The value as it is worded, where its quantity would claim too much."""

    def __and__(self, other: Shown) -> Shown:
        """Both; the number is that of the one that decides, else of the first."""
        return self if _rank(self) <= _rank(other) else other

    def __or__(self, other: Shown) -> Shown:
        """Either; likewise."""
        return self if _rank(self) >= _rank(other) else other

    def __invert__(self) -> Shown:
        return self._replace(true=None if self.true is None else not self.true)


def _rank(shown: Shown) -> int:
    """False decides a conjunction, then unknown."""
    return 1 if shown.true is None else 2 * shown.true


def is_so(fact: bool) -> Shown:
    """A fact without a number."""
    return Shown(fact)


def at_least(value: float, threshold: float) -> Shown:
    """NaN on either side: unknown."""
    return _compared(value, threshold, value >= threshold, "at least")


def at_most(value: float, threshold: float) -> Shown:
    """NaN on either side: unknown."""
    return _compared(value, threshold, value <= threshold, "at most")


def above(value: float, threshold: float) -> Shown:
    """NaN on either side: unknown."""
    return _compared(value, threshold, value > threshold, "above")


def below(value: float, threshold: float) -> Shown:
    """NaN on either side: unknown."""
    return _compared(value, threshold, value < threshold, "below")


def _compared(value: float, threshold: float, true: bool, bound: str) -> Shown:
    unknown = isnan(value) or isnan(threshold)
    return Shown(None if unknown else true, value, threshold, bound)


NOBODY = Neighbors()


@dataclass(frozen=True, slots=True, eq=False)
class Sign:
    """One function of `bottleneck/signs`, with its name as people read it."""

    name: str
    asks: Callable[[Direction, Neighbors], Shown]
    unit: str = ""
    """Unit of the number that the sign compares; a sign without one is a plain fact."""
    source: str = ""
    """Where the threshold comes from."""
    says: str = ""
    """How a sentence states it, with `{value}`, `{at}` (`at 900 us`) and `{threshold}`."""

    def __call__(self, direction: Direction, beside: Neighbors = NOBODY) -> Shown:
        return self.asks(direction, beside)

    @property
    def key(self) -> str:
        """What a row's sentence calls it."""
        return str(self.asks.__name__)

    def worded(self, shown: Shown) -> str:
        """`marks begin at 0.9 ms of queue delay (threshold 3 ms)`."""
        if not has_number(shown) or not self.unit:
            return self.name
        says = self.says or f"{self.name} ({{value}}, threshold {{threshold}})"
        value = self.value(shown)
        return says.format(value=value, at=at_delay(value), threshold=self.threshold(shown))

    def value(self, shown: Shown) -> str:
        return shown.words or quantity(shown.value or 0.0, self.unit)

    def threshold(self, shown: Shown) -> str:
        return quantity(shown.threshold or 0.0, self.unit)


def has_number(shown: Shown) -> bool:
    """A value and the threshold that it was compared with, both known."""
    value, threshold = shown.value, shown.threshold
    return value is not None and threshold is not None and not isnan(value + threshold)


def sign(
    name: str, unit: str = "", source: str = "", says: str = ""
) -> Callable[[Callable[[Direction], Shown]], Sign]:
    """Makes a sign of a function of the direction."""

    def made(asks: Callable[[Direction], Shown]) -> Sign:
        @wraps(asks)
        def alone(direction: Direction, _: Neighbors) -> Shown:
            return asks(direction)

        return Sign(name, alone, unit, source, says)

    return made


def sign_beside(
    name: str, unit: str = "", source: str = "", says: str = ""
) -> Callable[[Callable[[Direction, Neighbors], Shown]], Sign]:
    """Makes a sign of a function of the direction and the flows beside it of one class."""
    return lambda asks: Sign(name, asks, unit, source, says)
