"""The statistics of a comparison: intervals, tests and power, by scipy and statsmodels.

Per cell the two sides are independent samples: the runs of one side are no more like their
namesakes on the other than like any other run of the cell. Over the cells they are pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats
from statsmodels.stats.meta_analysis import effectsize_smd
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower

from l4strace.comparison import permutation

POWER = 0.8
"""Probability with which a difference that is called visible is found."""
MIN_RUNS_PER_SIDE = 2
"""Runs on each side of a cell without which there is no spread, hence no claim."""
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


def effects(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]],
    at_least: Sequence[float] | None = None,
) -> list[Effect]:
    """The effect of each pair of samples (both not empty), in order.

    ``at_least`` are the smallest differences of interest: p is that of a larger one.
    """
    found = [Effect(float(np.mean(a)), float(np.mean(b))) for a, b in pairs]
    spread = [
        index for index, (a, b) in enumerate(pairs) if min(len(a), len(b)) >= MIN_RUNS_PER_SIDE
    ]
    samples = [_without_rounding_errors(*map(np.array, pairs[index])) for index in spread]
    shifts = [at_least[index] if at_least else 0.0 for index in spread]
    for index, (a, b), shift, judged in zip(
        spread, samples, shifts, permutation.judge(samples, shifts), strict=True
    ):
        p = judged.p if shift or not _two_valued(a, b) else fisher(a, b)
        low, high = judged.low, judged.high
        if not shift:
            low, high = permutation.agreeing(p, float(b.mean() - a.mean()), low, high)
        size = hedges(a[None, :], b[None, :])[0]
        found[index] = replace(found[index], low=low, high=high, effect_size=size, p=p)
    return found


def hedges(a: Any, b: Any) -> list[float | None]:
    """Hedges' g of each row: the difference in standard deviations; null without any spread."""
    spread = (a.std(axis=1) + b.std(axis=1)) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes, _ = effectsize_smd(
            b.mean(axis=1), b.std(axis=1, ddof=1), b.shape[1],
            a.mean(axis=1), a.std(axis=1, ddof=1), a.shape[1],
        )  # fmt: skip
    return [float(g) if known else None for g, known in zip(sizes, spread, strict=True)]


def _two_valued(a: Any, b: Any) -> bool:
    return len(np.unique(np.concatenate([a, b]))) <= 2


def fisher(a: Any, b: Any) -> float:
    """Fisher's exact test of two values, as of findings that a run has or has not."""
    different = np.unique(np.concatenate([a, b]))
    if len(different) == 1:
        return 1.0
    high_a, high_b = int((a == different[1]).sum()), int((b == different[1]).sum())
    table = [[high_a, len(a) - high_a], [high_b, len(b) - high_b]]
    return float(stats.fisher_exact(table).pvalue)


def _without_rounding_errors(a: Any, b: Any) -> tuple[Any, Any]:
    """Both samples to `DIGITS` digits of the largest value: a sum of equal shares is no spread."""
    largest = float(np.max(np.abs(np.concatenate([a, b]))))
    if largest == 0:
        return a, b
    places = DIGITS - math.ceil(math.log10(largest))
    return np.round(a, places), np.round(b, places)


def beyond(before: Sequence[float], after: Sequence[float], effect: Effect, floor: float) -> Effect:
    """``effect``, judged also where the second side is a single run: by the spread of the first.

    Student's t with the variance of the first side, at least ``floor``; needs
    `FEWEST_OF_BASELINE` runs.
    """
    if effect.p is not None or len(after) != 1 or len(before) < FEWEST_OF_BASELINE:
        return effect
    deviation = max(float(np.var(before, ddof=1)), floor) ** 0.5
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
    values = iter(multipletests(known, alpha=permutation.LEVEL, method=method)[1].tolist())
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
        alpha=permutation.LEVEL / max(tests, 1),
        power=POWER,
    )
    return float(size) * deviation
