"""Two modes: runs of one cell that did one of two things, such as misfire or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log
from statistics import fmean, pvariance

from l4strace.wording.quantities import count, digits, share

FEWEST_RUNS = 6
FEWEST_OF_A_MODE = 2
GAP = 4.0
"""Gap between two modes in deviations within them: of 20,000 samples of 6 to 30 normal or
exponential runs 1 and 3 % have one, and of 30 % misfires (0.1 against 0.5, deviation 0.02) all."""
MISSED = 0.05
"""Probability with which runs may all be of the other mode and still count as enough."""


@dataclass(frozen=True)
class Modes:
    """The rarer mode of some runs and the other one."""

    part: float
    runs: int
    rare: float
    usual: float

    @property
    def needed(self) -> int:
        """Runs among which the rarer mode is with 95 %."""
        return ceil(log(MISSED) / log(1 - self.part))


def sentence(before: Sequence[float], after: Sequence[float]) -> str | None:
    """`30 % of 10 runs lie near 0.1, the others near 0.5: 3 runs cannot show it (needs 9)`."""
    for side, other in ((before, after), (after, before)):
        if found := modes(side):
            text = (
                f"{share(found.part)} of {count(found.runs, 'run')} lie near {digits(found.rare)}, "
                f"the others near {digits(found.usual)}"
            )
            if len(other) < found.needed:
                return f"{text}: {count(len(other), 'run')} cannot show it (needs {found.needed})"
            return f"{text}: a mean describes neither"
    return None


def modes(values: Sequence[float]) -> Modes | None:
    """The two modes of ``values``, where a gap separates them; null for any other sample."""
    ordered = sorted(values)
    n = len(ordered)
    if n < FEWEST_RUNS:
        return None
    places = range(FEWEST_OF_A_MODE, n - FEWEST_OF_A_MODE + 1)
    at = max(places, key=lambda place: ordered[place] - ordered[place - 1])
    low, high = ordered[:at], ordered[at:]
    within = (pvariance(low) * len(low) + pvariance(high) * len(high)) / n
    gap = high[0] - low[-1]
    if gap <= 0 or gap < GAP * within**0.5:
        return None
    rare, usual = sorted((low, high), key=len)
    return Modes(len(rare) / n, n, fmean(rare), fmean(usual))
