"""Sharing: the goodput of the flows that matter, in one picture."""

from __future__ import annotations

from typing import NamedTuple

from l4strace.page.case import CHARTED_SHARE, Case
from l4strace.page.chart import Chart
from l4strace.page.direction import Direction
from l4strace.page.drawing.layout import timeline
from l4strace.page.drawing.palette import FLOWS
from l4strace.page.drawing.series import line, points
from l4strace.page.drawing.smooth import interval_of, per_interval
from l4strace.wording.amounts import bit_rate, duration

TITLE = ""

MBIT = 1e-6
INTERVALS = 120
"""Points of each line: shares show best over intervals of some round trips."""


class SharingSection(NamedTuple):
    """No chart with fewer than two flows that carried data."""

    charts: tuple[Chart, ...]


def build(case: Case) -> SharingSection:
    """One line per charted direction that carries a share worth a line."""
    directions = [d for d in case.charted if d.rounds["goodput_bps"].count()]
    most = max((d.totals["payload_bytes"] for d in directions), default=0)
    directions = [d for d in directions if d.totals["payload_bytes"] >= CHARTED_SHARE * most]
    if len(directions) < 2:
        return SharingSection(())
    # Shorter than the rounds of a flow, they would show each as a peak above the capacity.
    spans = (interval_of(d.rounds, case.axis.length) for d in directions)
    interval = max(case.axis.length / INTERVALS, 0.05, *spans)
    traces = []
    for one, stroke in zip(directions, FLOWS, strict=False):
        rates = per_interval(one.rounds, interval)
        curve = points(rates.x, rates.goodput_bps, one.points, MBIT)
        traces.append(line(curve, one.label, stroke, width=2.2))
    figure = timeline(traces, "Mbit/s", case.axis, height=230)
    means = ", ".join(f"flow {d.flow} {bit_rate(_mean(d))}" for d in directions)
    every = duration(interval * 1e6)
    caption = f"Acknowledged payload per second, over intervals of {every}. Means: {means}."
    chart = Chart("sharing", "Goodput, flow against flow", caption, figure.height, figure.spec)
    return SharingSection((chart,))


def _mean(direction: Direction) -> float:
    seconds = (direction.totals["last_ns"] - direction.totals["first_ns"]) / 1e9
    return float(8 * direction.totals["acked_bytes"] / seconds) if seconds > 0 else 0.0
