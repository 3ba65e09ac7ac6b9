"""Tests and intervals of samples with few runs, which keep their level whatever the distribution.

Two runs may be equal by chance, and then their spread says that any difference is real. So a cell
has at least the spread that is usual in the other cells, and its difference is compared with those
that arise when its own runs are dealt to the two sides in other ways. Where the actual way is the
most extreme one, Student's t test states how far out it is, as permutations cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from scipy import stats

LEVEL = 0.05
"""Probability of calling a difference where there is none, and of an interval that misses."""
MOST_WAYS = 2_000
"""Ways to deal the runs that are all tried; of more as many are drawn: p of 5 % is then known to
one percent point (twice the deviation of a share of 5 % of 2,000)."""
SEED = 9331
"""Seed of the draws: equal runs give equal probabilities."""
FEWEST_WAYS = 10
"""Ways below which the runs of a cell alone show nothing: two against two have six, and two equal
modes fall apart in them by chance in 9 to 12 % of cells."""
OWN_WAYS = 40
"""Ways below which a cell is compared with all others alike, where there are enough of these: of 20
ways (3 against 3) two are a tenth, so that its own ways call next to nothing."""
FEWEST_CELLS = 5
"""Cells from which there is a usual spread: their median."""
Pairs = Sequence[tuple[Sequence[float], Sequence[float]]]


@dataclass(frozen=True)
class Judged:
    """Probability of the difference of one cell by chance, and its interval."""

    p: float
    low: float
    high: float


def judge(pairs: Pairs, shifts: Sequence[float]) -> list[Judged]:
    """The difference of each pair of samples, with at least two runs a side.

    ``shifts`` are the parts of the differences that are of no interest: each probability is that
    of a difference beyond it.
    """
    floors = usual(pairs)
    cells = [
        _cell(np.array(a, dtype=float), np.array(b, dtype=float), floor, shift)
        for (a, b), floor, shift in zip(pairs, floors, shifts, strict=True)
    ]
    few = [cell for cell in cells if cell.ways < OWN_WAYS]
    return [
        cell.judged(few if len(few) >= FEWEST_CELLS and cell.ways < OWN_WAYS else [])
        for cell in cells
    ]


@dataclass(frozen=True, eq=False)
class _Cell:
    """One pair of samples: its difference, and how far apart the sides are in each way."""

    difference: float
    low: float
    high: float
    shift: float
    ways: int
    freedom: float
    distances: Any

    def judged(self, alike: Sequence[_Cell]) -> Judged:
        """By its own ways, or by those of cells ``alike``, which have as few."""
        if abs(self.difference) <= self.shift:
            p = 1.0
        elif alike:
            p = self._among(alike)
        else:
            p = self._alone()
        if self.shift:
            return Judged(p, self.low, self.high)
        return Judged(p, *agreeing(p, self.difference, self.low, self.high))

    def _alone(self) -> float:
        """Mid-p of the actual way among all; beyond all others by Student's t."""
        actual = self.distances[0]
        ties = np.isclose(self.distances, actual, rtol=1e-9, atol=1e-12)
        above = int(((self.distances > actual) & ~ties).sum())
        p = float((above + ties.sum() / 2) / len(self.distances))
        if above or actual == 0:
            return p
        beyond = 2 * float(stats.t.sf(actual, self.freedom))
        return 1.0 if self.ways < FEWEST_WAYS else min(p, beyond)

    def _among(self, alike: Sequence[_Cell]) -> float:
        actual = self.distances[0]
        others = np.concatenate([cell.distances for cell in alike if cell is not self])
        above = int((others >= actual * (1 - 1e-9)).sum())
        if above:
            return (above + 0.5) / (len(others) + 1)
        freedom = sum(cell.freedom for cell in alike)
        return min(2 * float(stats.t.sf(actual, freedom)), 0.5 / (len(others) + 1))


def _cell(a: Any, b: Any, floor: float, shift: float) -> _Cell:
    difference = float(b.mean() - a.mean())
    low, high = interval(a, b, floor)
    moved = b - np.sign(difference) * min(shift, abs(difference))
    n_a, n_b = len(a), len(b)
    distances = _distances(a, moved, floor, _ways(n_a, n_b))
    freedom = _error(a, b, floor)[1]
    return _Cell(difference, low, high, shift, comb(n_a + n_b, n_b), freedom, distances)


def usual(pairs: Pairs) -> list[float]:
    """Variance that each cell has at least: the median of all cells, in absolute or relative terms.

    The smaller of both, because a goodput spreads with its size and a share does not. 0 with too
    few cells.
    """
    variances = np.array([_within(a, b) for a, b in pairs])
    if len(pairs) < FEWEST_CELLS:
        return [0.0] * len(pairs)
    sizes = np.array([abs(float(np.mean([*a, *b]))) for a, b in pairs])
    relative = np.median(np.sqrt(variances) / np.where(sizes > 0, sizes, np.inf)) * sizes
    floor: list[float] = np.minimum(np.median(variances), relative**2).tolist()
    return floor


def _within(a: Sequence[float], b: Sequence[float]) -> float:
    """Variance within both sides."""
    squares = np.var(a) * len(a) + np.var(b) * len(b)
    return float(squares / max(len(a) + len(b) - 2, 1))


@lru_cache(maxsize=64)
def _ways(n_a: int, n_b: int) -> Any:
    """Ways to choose the second side, as rows of 0 and 1; the first row is the actual one."""
    n = n_a + n_b
    actual = np.zeros(n)
    actual[n_a:] = 1
    if comb(n, n_b) <= MOST_WAYS:
        rows = np.zeros((comb(n, n_b), n))
        for row, chosen in enumerate(combinations(range(n - 1, -1, -1), n_b)):
            rows[row, list(chosen)] = 1
        return rows
    rng = np.random.default_rng(SEED)
    drawn = rng.permuted(np.tile(actual, (MOST_WAYS - 1, 1)), axis=1)
    return np.vstack([actual, drawn])


def _distances(a: Any, b: Any, floor: float, ways: Any) -> Any:
    """How many standard errors apart the two sides are, in each of the ``ways``."""
    values = np.concatenate([a, b])
    values = values - values.mean()
    n_a, n_b = len(a), len(b)
    second, squares = ways @ values, ways @ values**2
    difference = second / n_b + second / n_a
    within_b = (squares - second**2 / n_b).clip(0)
    within_a = ((values**2).sum() - squares - second**2 / n_a).clip(0)
    pooled = np.maximum((within_a + within_b) / (n_a + n_b - 2), floor) * (1 / n_a + 1 / n_b)
    apart = within_a / n_a / max(n_a - 1, 1) + within_b / n_b / max(n_b - 1, 1)
    # Where the smaller side spreads more, one spread for both would be too small.
    error = np.sqrt(np.maximum(pooled, apart))
    # Without any spread a difference is as far as can be.
    far = np.where(np.abs(difference) > 0, np.inf, 0.0)
    return np.where(error > 0, np.abs(difference) / np.where(error > 0, error, 1), far)


def interval(a: Any, b: Any, floor: float) -> tuple[float, float]:
    """Bounds of the difference of means by Student's or Welch's t, with at least the usual spread.

    The larger standard error of both: Welch's where the smaller side spreads more.
    """
    error, freedom = _error(a, b, floor)
    half = float(stats.t.ppf(1 - LEVEL / 2, freedom)) * error
    middle = float(b.mean() - a.mean())
    return middle - half, middle + half


def _error(a: Any, b: Any, floor: float) -> tuple[float, float]:
    """Standard error of the difference of means, and its degrees of freedom."""
    n_a, n_b = len(a), len(b)
    pooled = max(_within(a, b), floor) * (1 / n_a + 1 / n_b)
    if min(n_a, n_b) < 2:
        return float(np.sqrt(pooled)), n_a + n_b - 2
    v_a, v_b = float(a.var(ddof=1)) / n_a, float(b.var(ddof=1)) / n_b
    if v_a + v_b <= pooled * (1 + 1e-9):
        return float(np.sqrt(pooled)), n_a + n_b - 2
    freedom = (v_a + v_b) ** 2 / (v_a**2 / (n_a - 1) + v_b**2 / (n_b - 1))
    return float(np.sqrt(v_a + v_b)), freedom


def agreeing(p: float, difference: float, low: float, high: float) -> tuple[float, float]:
    """An interval that leaves out 0 where the test calls a difference, and holds it elsewhere."""
    if p >= LEVEL:
        return min(low, 0.0), max(high, 0.0)
    least = abs(difference) * 1e-3
    return (max(low, least), high) if difference > 0 else (low, min(high, -least))
