"""The one chart beside the verdict: the goodput of the flows that matter, in one picture."""

from __future__ import annotations

from l4strace.page.case import CHARTED_SHARE, Case
from l4strace.page.chart import Chart, chart_of
from l4strace.page.direction import Direction
from l4strace.page.drawing.layout import timeline
from l4strace.page.drawing.palette import FLOWS
from l4strace.page.drawing.series import line, points
from l4strace.page.drawing.smooth import interval_of, per_interval
from l4strace.page.figures import TIMELINES
from l4strace.wording.amounts import bit_rate, duration

NAME = "sharing"
MBIT = 1e-6
HEIGHT = 230
INTERVALS = 120
"""Points of each line: shares show best over intervals of some round trips."""


def chart(case: Case) -> Chart | None:
    """One line per charted direction that carries a share worth a line.

    Without packets it is the first chart that the kernel log allows; null where there is none.
    """
    directions = [d for d in case.charted if d.rounds["goodput_bps"].count()]
    most = max((d.totals["payload_bytes"] for d in directions), default=0)
    directions = [d for d in directions if d.totals["payload_bytes"] >= CHARTED_SHARE * most]
    if not directions:
        return _of_the_log(case)
    # Shorter than the rounds of a flow, they would show each as a peak above the capacity.
    spans = (interval_of(d.rounds, case.axis.length) for d in directions)
    interval = max(case.axis.length / INTERVALS, 0.05, *spans)
    traces = []
    for one, stroke in zip(directions, FLOWS, strict=False):
        rates = per_interval(one.rounds, interval)
        curve = points(rates.x, rates.goodput_bps, one.points, MBIT)
        traces.append(line(curve, one.label, stroke, width=2.2))
    figure = timeline(traces, "Mbit/s", case.axis, height=HEIGHT)
    means = ", ".join(f"flow {d.flow} {bit_rate(_mean(d))}" for d in directions)
    every = duration(interval * 1e6)
    caption = f"Acknowledged payload per second, over intervals of {every}. Mean: {means}."
    title = "Goodput, flow against flow" if len(directions) > 1 else "Goodput"
    return Chart(NAME, title, caption, figure.height, figure.spec)


def _of_the_log(case: Case) -> Chart | None:
    found = (chart_of(module, one) for one in case.charted for module in TIMELINES)
    first = next((drawn for drawn in found if drawn is not None), None)
    return first and first._replace(key=NAME)


def _mean(direction: Direction) -> float:
    seconds = (direction.totals["last_ns"] - direction.totals["first_ns"]) / 1e9
    return float(8 * direction.totals["acked_bytes"] / seconds) if seconds > 0 else 0.0
