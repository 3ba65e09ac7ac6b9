"""The statistics of a comparison: intervals, tests and power, by scipy and statsmodels.

Per cell the two sides are independent samples: the runs of one side are no more like their
namesakes on the other than like any other run of the cell. Over the cells they are pairs.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats
from statsmodels.stats.meta_analysis import effectsize_smd
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower

SIGNIFICANCE_LEVEL = 0.05
"""Probability of an interval that misses, and of calling any difference where there is none."""
POWER = 0.8
"""Probability with which a difference that is called visible is found."""
RESAMPLES = 1_000
"""Moves the ends of a 95 % interval by some 2 % of its length."""
SEED = 9331
"""Seed of the bootstrap: equal runs give equal intervals."""
MIN_RUNS_PER_SIDE = 2
"""Runs on each side of a cell without which there is no spread, hence no claim."""
FEWEST_TO_RESAMPLE = 5
"""Runs on each side for a bootstrap. Three runs have ten resamples, so that no interval between
their percentiles is long enough: those of 95 % cover in 89 %, with five in 94 to 95 %."""
DIGITS = 10
"""Double precision has 15; measures are sums and quotients of some."""
FEWEST_OF_BASELINE = 3
"""Runs of a baseline whose spread a single run is held against: the variance of two is known to a
factor of 30 (F(1, 1) at 90 %)."""


@dataclass(frozen=True)
class Effect:
    """The difference of one cell (second side minus first); null where runs are too few."""

    before: float
    after: float
    low: float | None = None
    high: float | None = None
    effect_size: float | None = None
    p: float | None = None

    @property
    def difference(self) -> float:
        return self.after - self.before


def effects(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> list[Effect]:
    """The effect of each pair of samples (both not empty), in order."""
    by_size: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index, (a, b) in enumerate(pairs):
        by_size[len(a), len(b)].append(index)
    found: dict[int, Effect] = {}
    for (n_a, n_b), indices in by_size.items():
        first = np.array([pairs[index][0] for index in indices], dtype=float)
        second = np.array([pairs[index][1] for index in indices], dtype=float)
        if min(n_a, n_b) < MIN_RUNS_PER_SIDE:
            made = [
                Effect(float(a.mean()), float(b.mean())) for a, b in zip(first, second, strict=True)
            ]
        else:
            made = _with_spread(first, second)
        found |= dict(zip(indices, made, strict=True))
    return [found[index] for index in range(len(pairs))]


def _with_spread(a: Any, b: Any) -> list[Effect]:
    """Effects of samples in rows, equally many in each row."""
    lows, highs = interval(a, b)
    sizes = hedges(a, b)
    return [
        Effect(float(x.mean()), float(y.mean()), float(low), float(high), size, chance(x, y))
        for x, y, low, high, size in zip(a, b, lows, highs, sizes, strict=True)
    ]


def interval(a: Any, b: Any) -> tuple[Any, Any]:
    """Bounds of the difference of means, row by row: an expanded percentile bootstrap.

    A plain percentile interval of few runs is too short. Hesterberg (The American Statistician
    69(4), 2015, section 5.3) widens its level so that it agrees with the t interval for normal
    data; the degrees of freedom are Welch's. Fewer runs than `FEWEST_TO_RESAMPLE` get that t
    interval itself.
    """
    if min(a.shape[1], b.shape[1]) < FEWEST_TO_RESAMPLE:
        total, freedom = _welch(a, b)
        half = stats.t.ppf(1 - SIGNIFICANCE_LEVEL / 2, freedom) * np.sqrt(total)
        middle = b.mean(axis=1) - a.mean(axis=1)
        return middle - half, middle + half
    lows, highs = np.empty(len(a)), np.empty(len(a))
    levels = _expanded_levels(a, b)
    for level in np.unique(levels):
        rows = levels == level
        bounds = stats.bootstrap(
            (a[rows], b[rows]),
            lambda x, y, axis: y.mean(axis=axis) - x.mean(axis=axis),
            axis=1,
            vectorized=True,
            n_resamples=RESAMPLES,
            confidence_level=float(level),
            method="percentile",
            rng=np.random.default_rng(SEED),
            batch=50,
        ).confidence_interval
        lows[rows], highs[rows] = bounds.low, bounds.high
    return lows, highs


def _expanded_levels(a: Any, b: Any) -> Any:
    """Confidence level of the percentile interval of each row; rounded, so that rows share some."""
    n_a, n_b = a.shape[1], b.shape[1]
    v_a, v_b = a.var(axis=1, ddof=1) / n_a, b.var(axis=1, ddof=1) / n_b
    total, freedom = _welch(a, b)
    # What resampling makes too small: the variance of each mean, by (n - 1) / n.
    shrunk = v_a * (n_a - 1) / n_a + v_b * (n_b - 1) / n_b
    stretch = np.sqrt(np.where(shrunk > 0, total / np.where(shrunk > 0, shrunk, 1), 1))
    tail = stats.norm.cdf(-stretch * stats.t.ppf(1 - SIGNIFICANCE_LEVEL / 2, freedom))
    return 1 - 2 * np.round(tail, 3).clip(0.001)


def _welch(a: Any, b: Any) -> tuple[Any, Any]:
    """Variance of the difference of means of each row, and its degrees of freedom (Welch)."""
    n_a, n_b = a.shape[1], b.shape[1]
    v_a, v_b = a.var(axis=1, ddof=1) / n_a, b.var(axis=1, ddof=1) / n_b
    total = v_a + v_b
    squares = v_a**2 / (n_a - 1) + v_b**2 / (n_b - 1)
    least = min(n_a, n_b) - 1
    return total, np.where(squares > 0, total**2 / np.where(squares > 0, squares, 1), least)


def hedges(a: Any, b: Any) -> list[float | None]:
    """Hedges' g of each row: the difference in standard deviations; null without any spread."""
    spread = (a.std(axis=1) + b.std(axis=1)) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes, _ = effectsize_smd(
            b.mean(axis=1), b.std(axis=1, ddof=1), b.shape[1],
            a.mean(axis=1), a.std(axis=1, ddof=1), a.shape[1],
        )  # fmt: skip
    return [float(g) if known else None for g, known in zip(sizes, spread, strict=True)]


def chance(a: Any, b: Any) -> float:
    """Probability of so large a difference of two samples by chance.

    Welch's t test; Fisher's exact test where there are only two different values, as of findings
    that a run has or has not.
    """
    a, b = _without_rounding_errors(a, b)
    different = np.unique(np.concatenate([a, b]))
    if len(different) == 1:
        return 1.0
    if len(different) == 2:
        high_a, high_b = int((a == different[1]).sum()), int((b == different[1]).sum())
        table = [[high_a, len(a) - high_a], [high_b, len(b) - high_b]]
        return float(stats.fisher_exact(table).pvalue)
    moments = (float(x) for side in (a, b) for x in (side.mean(), side.std(ddof=1), len(side)))
    return float(stats.ttest_ind_from_stats(*moments, equal_var=False).pvalue)


def _without_rounding_errors(a: Any, b: Any) -> tuple[Any, Any]:
    """Both samples to `DIGITS` digits of the largest value: a sum of equal shares is no spread."""
    largest = float(np.max(np.abs(np.concatenate([a, b]))))
    if largest == 0:
        return a, b
    places = DIGITS - math.ceil(math.log10(largest))
    return np.round(a, places), np.round(b, places)


def beyond(before: Sequence[float], after: Sequence[float], effect: Effect) -> Effect:
    """``effect``, judged also where the second side is a single run: by the spread of the first.

    Student's t with the variance of the first side, which needs `FEWEST_OF_BASELINE` runs.
    """
    if effect.p is not None or len(after) != 1 or len(before) < FEWEST_OF_BASELINE:
        return effect
    deviation = float(np.std(before, ddof=1))
    if deviation == 0:
        return effect
    n = len(before)
    p = stats.ttest_ind_from_stats(effect.before, deviation, n, effect.after, 0.0, 1).pvalue
    return replace(effect, p=float(p))


def corrected(probabilities: Sequence[float | None], method: str) -> list[float | None]:
    """``probabilities`` corrected for their number: ``method`` is `holm` or `fdr_bh`."""
    known = [p for p in probabilities if p is not None]
    if not known:
        return list(probabilities)
    values = iter(multipletests(known, alpha=SIGNIFICANCE_LEVEL, method=method)[1].tolist())
    return [None if p is None else next(values) for p in probabilities]


def paired(differences: Sequence[float]) -> float | None:
    """Wilcoxon's signed-rank test over cells: do they lean to one side; null below six cells."""
    if len(differences) < 6 or not any(differences):
        # With five pairs no outcome is rarer than 2 / 2^5 = 6 %.
        return None
    return float(stats.wilcoxon(differences).pvalue)


def visible(deviation: float, runs_before: int, runs_after: int, tests: int) -> float | None:
    """Smallest difference of a cell that these runs show with probability `POWER`.

    With the strictest step of Holm's correction for ``tests`` tests; null with too few runs.
    """
    if min(runs_before, runs_after) < MIN_RUNS_PER_SIDE:
        return None
    size = TTestIndPower().solve_power(
        nobs1=runs_before,
        ratio=runs_after / runs_before,
        alpha=SIGNIFICANCE_LEVEL / max(tests, 1),
        power=POWER,
    )
    return float(size) * deviation
