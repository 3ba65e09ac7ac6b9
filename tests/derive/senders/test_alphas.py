"""Which alpha a sender computes, from windows made by each build."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from l4strace.derive.senders import alphas
from l4strace.evidence import Capture
from tests.support import frames

RTT_US = 10_000.0
COUNT = 120
EVERY = 8
"""Rounds between two marks."""


def sender(*, zero: bool, growth: float = 1.0, handshake: str = "full") -> Capture:
    """A flow whose alpha starts at 0 or at 1, with marks every eighth round."""
    window, left, flight, marks, replayed = 40.0, 1.0, [], [], []
    alpha = 1.0
    for n in range(COUNT):
        marked = n % EVERY == 0
        own = alpha - left if zero else alpha
        flight.append(round(window))
        marks.append(int(marked))
        window = window * (1 - own / 2) if marked else window + growth
        alpha += ((1 / flight[-1] if marked else 0.0) - alpha) / 16
        left *= 15 / 16
        replayed.append(alpha)
    updates = list(range(1, COUNT + 1))
    columns: dict[str, Any] = {
        f"{name}{bound}": replayed for name in ("alpha", "alpha_25ms") for bound in BOUNDS
    }
    return frames.capture(
        flows=frames.frame("flows", handshake=handshake),
        directions=frames.frame("directions", data_ect1=1000),
        rounds=frames.rounds(
            COUNT,
            inflight_max_packets=flight,
            ce_best=marks,
            rtt_mean_us=RTT_US,
            alpha_updates=updates,
            alpha_25ms_updates=updates,
            classic_ecn=0.0,
            classic_ecn_buggy=0.0,
            **columns,
        ),
    )


BOUNDS = ("", "_lo", "_hi")


def replayed(capture: Capture) -> pl.DataFrame:
    return alphas.rounds(capture, capture.rounds)


@pytest.mark.parametrize("zero", [False, True])
def test_first_reductions_show_where_alpha_starts(zero: bool) -> None:
    capture = sender(zero=zero)
    assert alphas.chosen(capture)["from_zero"].to_list() == [zero]
    first = replayed(capture).row(5, named=True)
    assert first["alpha"] == first["alpha_lo"] == first["alpha_hi"]
    assert (first["alpha"] < 0.1) == zero


def test_growth_shows_the_clock() -> None:
    slow = (RTT_US / 25_000) ** 2
    assert alphas.chosen(sender(zero=False))["paced"].to_list() == [False]
    assert alphas.chosen(sender(zero=True, growth=slow))["paced"].to_list() == [True]


@pytest.mark.parametrize(("growth", "proven"), [(1.0, True), ((RTT_US / 25_000) ** 2, False)])
def test_only_fast_growth_narrows_the_bounds_to_one_clock(growth: float, proven: bool) -> None:
    """Slow growth is no proof: a window that pacing leaves unfilled does not grow either."""
    capture = sender(zero=False, growth=growth)
    other = capture.rounds.with_columns(
        *(pl.lit(0.3).alias(f"alpha_25ms{bound}") for bound in BOUNDS)
    )
    last = alphas.rounds(capture, other).row(-1, named=True)
    near = other.row(-1, named=True)["alpha"]
    bounds = (last["alpha_lo"], last["alpha_hi"])
    assert bounds == ((near, near) if proven else (min(near, 0.3), max(near, 0.3)))


def test_what_packets_leave_open_stays_in_the_bounds() -> None:
    capture = sender(zero=True)
    unmarked = capture.rounds.with_columns(inflight_max_packets=pl.lit(2, dtype=pl.UInt32()))
    capture = frames.capture(flows=capture.flows, directions=capture.directions, rounds=unmarked)
    assert alphas.chosen(capture)["from_zero"].to_list() == [None]
    first = replayed(capture).row(5, named=True)
    assert first["alpha"] == first["alpha_hi"] > 0.5 > first["alpha_lo"]


def test_a_late_start_has_bounds_of_both_starts() -> None:
    first = replayed(sender(zero=True, handshake="none")).row(5, named=True)
    assert first["alpha_lo"] < 0.1
    assert first["alpha_hi"] > 0.6
    assert first["alpha"] == pytest.approx((first["alpha_lo"] + first["alpha_hi"]) / 2)
