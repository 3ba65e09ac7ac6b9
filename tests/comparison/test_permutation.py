"""Tests keep their level and intervals their coverage, whatever the data, however few the runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from l4strace.comparison import modes, permutation, statistics
from tests.support import studies


@pytest.mark.slow
@pytest.mark.parametrize("cells", [12, 1])
def test_level_and_coverage(cells: int):
    """240 draws know a level of 5 % to 1.4 points: `make truth-studies` has the finer table."""
    for line in studies.table(cells, 240):
        assert line.level <= 0.09, line
        assert line.coverage >= 0.9, line
        if line.attainable:
            assert line.level >= 0.0125, line


def test_a_few_runs_that_are_equal_by_chance_call_nothing():
    """Welch's test takes two runs at their own spread: 27 % false alarms with 10 against 2."""
    rng = np.random.default_rng(3)
    pairs = [(rng.normal(0, 1, 10), rng.normal(0, 1, 2)) for _ in range(400)]
    called = [permutation.judge([pair], [0.0])[0].p < 0.05 for pair in pairs]
    assert np.mean(called) <= 0.075


def test_the_interval_agrees_with_the_test():
    rng = np.random.default_rng(4)
    for size in (3, 5, 12):
        for _ in range(60):
            pair = rng.normal(0, 1, size), rng.normal(1, 1, size)
            (one,) = permutation.judge([pair], [0.0])
            assert (one.p < 0.05) == (not one.low <= 0 <= one.high)


def test_a_smallest_effect_of_interest():
    rng = np.random.default_rng(5)
    pair = rng.normal(0, 0.1, 10), rng.normal(1, 0.1, 10)
    beyond = [permutation.judge([pair], [least])[0].p for least in (0.0, 0.5, 0.99, 2.0)]
    assert beyond[0] < 1e-6
    assert beyond[1] < 1e-6
    assert beyond[2] > 0.05
    assert beyond[3] == 1.0


def test_a_cell_has_at_least_the_usual_spread():
    quiet: list[tuple[Sequence[float], Sequence[float]]] = [
        ([1.0 + n, 1.2 + n, 0.8 + n], [1.1 + n, 0.9 + n, 1.0 + n]) for n in range(8)
    ]
    lucky = ([1.0, 1.0, 1.0], [1.1, 1.1, 1.1])
    alone = statistics.effects([lucky])[0]
    among = statistics.effects([*quiet, lucky])[-1]
    assert alone.p is not None
    assert among.p is not None
    assert among.p > 0.1


def test_two_modes_are_seen_and_one_is_not():
    misfires = [0.1 + n / 100 for n in range(3)] + [0.5 + n / 100 for n in range(7)]
    found = modes.modes(misfires)
    assert found
    assert (found.part, found.runs, found.needed) == (0.3, 10, 9)
    rng = np.random.default_rng(6)
    normal = [modes.modes(rng.normal(0, 1, 20).tolist()) for _ in range(300)]
    assert sum(one is not None for one in normal) <= 6
    assert modes.modes([1.0, 9.0]) is None
