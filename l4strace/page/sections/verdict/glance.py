"""The one chart beside the verdict: the goodput of the flows that matter, in one picture."""

from __future__ import annotations

from l4strace.page.case import CHARTED_SHARE, Case
from l4strace.page.chart import Chart, chart_of
from l4strace.page.direction import Direction
from l4strace.page.drawing.layout import timeline
from l4strace.page.drawing.palette import FLOWS
from l4strace.page.drawing.series import line, points
from l4strace.page.drawing.smooth import interval_of, per_interval
from l4strace.page.figures import TIMELINES, goodput
from l4strace.wording.amounts import bit_rate, duration

NAME = "sharing"
MBIT = 1e-6
HEIGHT = 230
ANSWERS_SHARE = 0.1
"""Where feedback is encrypted it is payload too: an ACK of 40 bytes for each packet or second one
of 1,200 is a few percent of it."""
INTERVALS = 120
"""Points of each line: shares show best over intervals of some round trips."""


def chart(case: Case) -> Chart | None:
    """One line per charted direction that carries a share worth a line.

    Without packets it is the first chart that the kernel log allows; null where there is none.
    """
    directions = [d for d in case.charted if d.rounds["goodput_bps"].count()]
    most = max((d.totals["payload_bytes"] for d in directions), default=0)
    directions = [d for d in directions if d.totals["payload_bytes"] >= _least(d) * most]
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
    counted = " or ".join(sorted({d.counted for d in directions})).capitalize()
    caption = f"{counted} payload per second, over intervals of {every}. Mean: {means}."
    rate = goodput.SENT if counted == "Sent" else "Goodput"
    title = f"{rate}, flow against flow" if len(directions) > 1 else rate
    return Chart(NAME, title, caption, figure.height, figure.spec)


def _least(direction: Direction) -> float:
    """Share of the largest one's payload from which a line is worth its place."""
    return ANSWERS_SHARE if direction.counted == "sent" else CHARTED_SHARE


def _of_the_log(case: Case) -> Chart | None:
    found = (chart_of(module, one) for one in case.charted for module in TIMELINES)
    first = next((drawn for drawn in found if drawn is not None), None)
    return first and first._replace(key=NAME)


def _mean(direction: Direction) -> float:
    seconds = (direction.totals["last_ns"] - direction.totals["first_ns"]) / 1e9
    return float(8 * direction.delivered_bytes / seconds) if seconds > 0 else 0.0
