"""Per-round rates over equal intervals of time."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from l4strace.core import _native

MAX_INTERVALS = 1000
"""Intervals in the whole run: a chart has about as many columns."""
INTERVAL_ROUNDS = 4
"""Round trips in an interval, so that the edges of rounds move its rate by a quarter at most."""
SHORTEST_S = 0.01
"""Shortest interval of a rate: one ACK 40 us after another is not a rate of 100 Gbit/s."""


def interval_of(rounds: pl.DataFrame, length: float) -> float:
    """Seconds of the intervals that suit ``rounds`` in a run of ``length`` seconds."""
    return max(length / MAX_INTERVALS, INTERVAL_ROUNDS * _usual_s(rounds), SHORTEST_S)


def _usual_s(rounds: pl.DataFrame) -> float:
    """The length of round in which the middle byte was acknowledged; 0 without one.

    By bytes: behind a long queue few rounds may carry most, and shorter intervals show a comb.
    """
    lengths = rounds.select("acked_bytes", ns=pl.col("end_ns") - pl.col("start_ns")).sort("ns")
    acked = pl.col("acked_bytes")
    half = lengths.filter(2 * acked.cum_sum() >= acked.sum())
    return half["ns"][0] / 1e9 if len(half) else 0.0


class Rates(NamedTuple):
    """Intervals in order: their middle ``x`` (s), rate, and packets retransmitted in them."""

    x: list[float]
    goodput_bps: list[float]
    retransmits: list[int]


def per_interval(rounds: pl.DataFrame, interval: float) -> Rates:
    """Goodput and retransmissions per interval of ``seconds``.

    A round's bytes count where the round ends: that is when they were acknowledged.
    """
    ended = rounds["x"] + (rounds["end_ns"] - rounds["start_ns"]) / 1e9
    x, (acked, again) = sums(rounds, ended, interval, "acked_bytes", "retransmits")
    return Rates(x, [8 * count / interval for count in acked], again)


def sums(
    rounds: pl.DataFrame, ended: pl.Series, interval: float, *columns: str
) -> tuple[list[float], list[list[int]]]:
    """Middles of the intervals that rounds ``ended`` in (s), and sums of ``columns`` in each.

    From the first interval with a round to the last; 0 where no round ended.
    """
    rows = pl.DataFrame([ended.alias("ended"), *(rounds[name] for name in columns)]).rechunk()
    first, found = _native.per_interval(rows, interval, columns)
    return middles(first, len(found[0]), interval), found


def middles(first: int, count: int, interval: float) -> list[float]:
    """The middle (s) of so many intervals from number ``first`` on."""
    return [(slot + 0.5) * interval for slot in range(first, first + count)]
