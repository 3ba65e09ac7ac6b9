"""Which marked rounds show whether the sender reduced, and what alpha each build has."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from typing import Any

import polars as pl
import pytest

from l4strace.derive import windows
from tests.support import frames

COUNT = 40
RTT_NS = 40 * frames.MS


def usable(marked: set[int], shown: str = "isolated", **columns: object) -> dict[int, Any]:
    """Round -> `isolated`, or what else is to be shown, of the rounds that are usable."""
    plain: dict[str, Any] = {
        "start_ns": [n * RTT_NS for n in range(COUNT)],
        "end_ns": [(n + 1) * RTT_NS for n in range(COUNT)],
        "ce_best": [int(n in marked) for n in range(COUNT)],
        "alpha_updates": [1 + n for n in range(COUNT)],
    }
    capture = frames.capture(
        flows=frames.frame("flows"),
        directions=frames.frame("directions", data_ect1=1000),
        rounds=frames.rounds(COUNT, **(plain | columns)),
    )
    found = windows.usable(capture)
    return dict(found.select("round", shown).iter_rows())


def test_a_mark_after_a_pause_is_usable_and_the_next_is_not() -> None:
    assert usable({10, 20, 21}) == {10: True, 20: True}


def test_in_a_run_of_marked_rounds_a_reduction_follows_a_reduction() -> None:
    assert usable({20, 21, 22, 23}) == {20: True, 22: False, 23: False}


def test_a_round_that_a_queue_makes_long_has_a_reduction_of_its_own() -> None:
    """Lab run s1301-093: rounds of 12 ms last for 28 ms when the capacity falls."""
    rtts = [10_000.0] * 20 + [30_000.0] * 3 + [10_000.0] * (COUNT - 23)
    found = usable({20, 21, 22, 23}, shown="cuts", rtt_mean_us=rtts)
    assert found == {20: 1.0, 22: windows.CONTINUED, 23: pytest.approx(windows.CONTINUED * 0.4)}


def test_losses_slow_start_and_small_windows_are_left_out() -> None:
    assert usable({20}, retransmits=[int(n == 21) for n in range(COUNT)]) == {}
    assert usable({20}, slow_start=True) == {}
    assert usable({20}, inflight_max_packets=3) == {}


def test_alpha_from_zero_lacks_what_is_left_of_the_start() -> None:
    plain = {"alpha": [1.0, 0.9], "alpha_updates": [0, 2], "alpha_25ms_updates": 0}
    frame = pl.DataFrame(plain).with_columns(windows.left())
    assert frame.select(windows.alpha(paced=False, from_zero=True)).to_series().to_list() == [
        0.0,
        0.9 - (15 / 16) ** 2,
    ]


def test_a_share_is_of_the_fractional_window() -> None:
    """Lab run s1201-030: of 5.5 packets, of which 6 are in flight, a third leaves 4.3."""
    frame = pl.DataFrame({"before": [6.0], "after": [4.28], "growth": [0.0]})
    assert frame.select(windows.given()).item() == pytest.approx(0.3125, abs=0.001)


def test_costs_are_those_of_the_model_added_up_exactly() -> None:
    """The native sums against the model as it reads, one sample and one law at a time."""
    draw = random.Random(8)
    count = 400
    samples = pl.DataFrame(
        {
            "flow": [draw.randrange(3) for _ in range(count)],
            "before": [draw.uniform(4, 200) for _ in range(count)],
            "growth": [draw.random() for _ in range(count)],
            "error": [draw.uniform(0.7, 9) for _ in range(count)],
            "isolated": [draw.random() < 0.6 for _ in range(count)],
            "cuts": [draw.choice([1.0, 0.8, 0.3, None]) for _ in range(count)],
            "alpha": [draw.choice([draw.random(), None]) for _ in range(count)],
        }
    ).with_columns(after=pl.col("before") * 0.8)
    fractions = {"alpha": pl.col("alpha") / 2, "half": pl.lit(0.5)}
    found = windows.log_likelihoods(samples, ["flow"], fractions)
    assert found["flow"].to_list() == samples["flow"].unique(maintain_order=True).to_list()
    for row in found.iter_rows(named=True):
        own = samples.filter(flow=row["flow"]).to_dicts()
        given = {"half": 0.5, "alpha": None}
        for law in fractions:
            shares = ((sample, given[law] or _half(sample["alpha"])) for sample in own)
            assert row[law] == pytest.approx(_likelihood(shares), rel=1e-14)


def _half(alpha: float | None) -> float | None:
    return None if alpha is None else alpha / 2


def _likelihood(samples: Iterable[tuple[dict[str, Any], float | None]]) -> float:
    alone: list[float] = []
    running: dict[float, list[float]] = {growth: [] for growth in windows.GROWTHS}
    for sample, fraction in samples:
        if fraction is None or sample["cuts"] is None:
            continue
        if sample["isolated"]:
            alone.append(_cost(sample, fraction, sample["growth"]))
        else:
            for growth, costs in running.items():
                costs.append(_cost(sample, fraction, growth))
    return -(math.fsum(alone) + min(math.fsum(costs) for costs in running.values()))


def _cost(sample: dict[str, Any], fraction: float, growth: float) -> float:
    """Nats of one error: quadratic, then linear, then constant."""
    window = sample["before"] - windows.ROUNDED
    predicted = window * (1 - fraction * sample["cuts"]) + windows.ROUNDED
    off = abs((sample["after"] - (predicted + growth)) / sample["error"])
    if off < windows.GAUSSIAN:
        return float(off**2 / 2)
    return min(windows.GAUSSIAN * off - windows.GAUSSIAN**2 / 2, windows.UNLIKELY)
