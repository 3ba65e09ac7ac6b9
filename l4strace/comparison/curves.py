"""The curves of a run where it is compared with others: one a question, as on its own page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import polars as pl

from l4strace.page.direction import Direction
from l4strace.page.drawing.figure import Figure, Trace
from l4strace.page.drawing.layout import timeline
from l4strace.page.drawing.series import MBIT, MS, Points, points, points_of
from l4strace.page.drawing.smooth import per_interval, sums
from l4strace.page.figures import alpha, classic_ecn, goodput, queue, rtt
from l4strace.wording.amounts import duration, number, share
from l4strace.wording.moments import TimeAxis

MOST_POINTS = 2000
"""Points of one curve: a chart has about half as many columns."""


class Drawn(NamedTuple):
    """The curve of one run, and what it comes to in words."""

    curve: Points
    about: str


class Question(NamedTuple):
    """``of`` draws a direction, null where it does not show it; ``framed`` is the chart of all
    curves; ``how`` what a curve is."""

    name: str
    title: str
    how: str
    of: Callable[[Direction], Drawn | None]
    framed: Callable[[list[Trace], TimeAxis, Sequence[Points]], Figure]


def _goodput(direction: Direction) -> Drawn | None:
    if not direction.rounds["goodput_bps"].count():
        return None
    rates = per_interval(direction.rounds, direction.interval)
    curve = points(rates.x, rates.goodput_bps, MOST_POINTS, MBIT)
    every = duration(direction.interval * 1e6)
    return Drawn(curve, f"mean {goodput.mean(direction)}, over intervals of {every}")


def _rtt(direction: Direction) -> Drawn | None:
    curve = points_of(direction.rounds, "rtt_mean_us", MOST_POINTS, MS)
    return Drawn(curve, f"mean {duration(direction.totals['rtt_mean_us'])}") if curve else None


def _queue(direction: Direction) -> Drawn | None:
    curve = points_of(direction.rounds, "queue_delay_us", MOST_POINTS, MS)
    return Drawn(curve, _median(direction.rounds["queue_delay_us"], duration)) if curve else None


def _marks(direction: Direction) -> Drawn | None:
    """The marked share, over the intervals of goodput."""
    rounds = direction.rounds.drop_nulls("ce_best")
    fed_back = direction.totals["ce_fed_back_best"]
    if fed_back is None or not rounds["ce_best"].sum():
        return None
    ended = rounds["x"] + (rounds["end_ns"] - rounds["start_ns"]) / 1e9
    columns = ("ce_best", "acked_packets")
    middles, counts = sums(rounds, ended, direction.interval, *columns)
    shown = [
        (x, 100 * marked / acked)
        for x, marked, acked in zip(middles, *counts, strict=True)
        if acked
    ]
    curve = points([x for x, _ in shown], [y for _, y in shown], MOST_POINTS)
    sent = direction.totals["data_segments"]
    return Drawn(
        curve, f"{fed_back:,} fed back ({share(min(fed_back, sent), sent)} of the packets)"
    )


def _alpha(direction: Direction) -> Drawn | None:
    recorded = points_of(direction.kernel, "alpha", MOST_POINTS)
    if recorded:
        return Drawn(recorded, _median(direction.kernel["alpha"], number, "recorded by the kernel"))
    if not direction.scalable:
        return None
    replayed = points_of(direction.rounds, "alpha", MOST_POINTS)
    text = _median(direction.rounds["alpha"], number, "replayed from packets")
    return Drawn(replayed, text) if replayed else None


def _score(direction: Direction) -> Drawn | None:
    recorded = points_of(direction.kernel, "classic_ecn", MOST_POINTS)
    if recorded:
        return Drawn(recorded, f"ended at {number(recorded.y[-1])}, recorded by the kernel")
    if not direction.prague:
        return None
    replayed = points_of(direction.rounds, "classic_ecn", MOST_POINTS)
    text = f"ended at {number(replayed.y[-1])}, replayed from packets" if replayed else ""
    return Drawn(replayed, text) if replayed else None


def _window(direction: Direction) -> Drawn | None:
    recorded = points_of(direction.kernel, "snd_cwnd", MOST_POINTS)
    if recorded:
        return Drawn(recorded, _median(direction.kernel["snd_cwnd"], number, "snd_cwnd, kernel"))
    column = "inflight_max_packets"
    curve = points_of(direction.rounds, column, MOST_POINTS)
    text = _median(direction.rounds[column], number, "in flight (most of the round)")
    return Drawn(curve, text) if curve else None


def _median(values: pl.Series, words: Callable[[float], str], what: str = "") -> str:
    middle = f"median {words(values.median())}"  # type: ignore[arg-type]
    return f"{middle}, {what}" if what else middle


def _over(y_title: str, **y: Any) -> Callable[[list[Trace], TimeAxis, Sequence[Points]], Figure]:
    return lambda traces, axis, _: timeline(traces, y_title, axis, **y)


def _alpha_framed(traces: list[Trace], axis: TimeAxis, curves: Sequence[Points]) -> Figure:
    settled = axis.length * alpha.SETTLED
    late = ([y for x, y in zip(curve.x, curve.y, strict=True) if x >= settled] for curve in curves)
    return alpha.framed(traces, axis, alpha.end_of_scale(max(ys, default=None) for ys in late))


QUESTIONS = (
    Question("goodput", "Goodput", "Newly acknowledged payload.", _goodput, _over("Mbit/s")),
    Question("rtt", rtt.TITLE, "Mean of each round.", _rtt, _over("ms", rangemode="normal")),
    Question("queue", queue.TITLE, "RTT above the smallest of the path.", _queue, _over("ms")),
    Question(
        "marks", "CE marks", "Of the packets that are acknowledged.", _marks, _over("% marked")
    ),
    Question("alpha", alpha.TITLE, "", _alpha, _alpha_framed),
    Question(
        "score",
        classic_ecn.TITLE,
        "",
        _score,
        lambda traces, axis, _: classic_ecn.framed(traces, axis),
    ),
    Question("window", "Window", "In packets.", _window, _over("packets")),
)
