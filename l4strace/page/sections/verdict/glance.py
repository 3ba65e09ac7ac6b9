"""The one chart beside the verdict: what its headline is about, else the goodput of the flows that
matter, in one picture."""

from __future__ import annotations

from collections import Counter
from types import ModuleType

from l4strace.model import Finding
from l4strace.page.case import CHARTED_SHARE, Case
from l4strace.page.chart import Chart, chart_of
from l4strace.page.direction import Direction
from l4strace.page.drawing.layout import COMPARING, shade, timeline
from l4strace.page.drawing.palette import FLOWS, SEVERITIES
from l4strace.page.drawing.series import MBIT, line, points
from l4strace.page.drawing.smooth import per_interval
from l4strace.page.figures import TIMELINES, goodput, marks, queue, rtt, window
from l4strace.wording.amounts import duration

NAME = "sharing"
ANSWERS_SHARE = 0.1
"""Where feedback is encrypted it is payload too: an ACK of 40 bytes for each packet or second one
of 1,200 is a few percent of it."""
INTERVALS = 120
"""Points of each line: shares show best over intervals of some round trips."""


SHOWS: dict[str, ModuleType] = {
    **dict.fromkeys(("L4S119", "L4S211", "L4S403", "L4S409"), marks),
    **dict.fromkeys(("L4S202", "L4S203", "L4S204", "L4S205"), window),
    **dict.fromkeys(("L4S402", "L4S404", "L4S411", "L4S503"), queue),
    **dict.fromkeys(("L4S405", "L4S406"), rtt),
}
"""The figure of what a rule's headlines are about, where that is not how much the flows carry."""


def chart(case: Case, finding: Finding | None = None) -> Chart | None:
    """What ``finding`` is about, of its flow; else `_goodput`. The stretch that it names is shaded.

    Without packets it is the first chart that the kernel log allows; null where there is none.
    """
    seen = _of_the_finding(case, finding) if finding else None
    seen = seen or _goodput(case)
    if seen and finding and (span := case.stretch(finding)):
        stroke = SEVERITIES[finding.severity.name.lower()]
        shade(seen.spec["layout"], span, finding.rule, stroke)
    return seen


def _of_the_finding(case: Case, finding: Finding) -> Chart | None:
    module = SHOWS.get(finding.rule)
    direction = module and case.direction(finding.flow, finding.forward is not False)
    drawn = chart_of(module, direction) if module and direction else None
    if drawn is None or direction is None:
        return None
    several = len({one.flow for one in case.charted}) > 1
    title = f"{drawn.title}, flow {direction.flow}" if several else drawn.title
    return drawn._replace(key=NAME, title=title, height=COMPARING)


def _goodput(case: Case) -> Chart | None:
    """One line per charted direction that carries a share worth a line."""
    directions = [d for d in case.charted if d.rounds["goodput_bps"].count()]
    most = max((d.totals["payload_bytes"] for d in directions), default=0)
    directions = [d for d in directions if d.totals["payload_bytes"] >= _least(d) * most]
    if not directions:
        return _of_the_log(case)
    # Shorter than the rounds of a flow, they would show each as a peak above the capacity.
    spans = (direction.interval for direction in directions)
    interval = max(case.axis.length / INTERVALS, 0.05, *spans)
    traces, names = [], _names(directions)
    for one, name, stroke in zip(directions, names, FLOWS, strict=False):
        rates = per_interval(one.rounds, interval)
        curve = points(rates.x, rates.goodput_bps, one.points, MBIT)
        traces.append(line(curve, f"{name} ({one.nature})", stroke, width=2.2))
    figure = timeline(traces, "Mbit/s", case.axis, height=COMPARING)
    means = ", ".join(
        f"{name} {goodput.mean(d)}" for name, d in zip(names, directions, strict=True)
    )
    every = duration(interval * 1e6)
    counted = " or ".join(sorted({d.counted for d in directions})).capitalize()
    caption = f"{counted} payload per second, over intervals of {every}. Mean: {means}."
    rate = goodput.SENT if counted == "Sent" else "Goodput"
    title = f"{rate}, flow against flow" if len(directions) > 1 else rate
    return Chart(NAME, title, caption, figure.height, figure.spec)


def _names(directions: list[Direction]) -> list[str]:
    """`flow 3`; where both ways of it are drawn, `flow 3 from its client`."""
    ways = Counter(one.flow for one in directions)

    def name(one: Direction) -> str:
        if ways[one.flow] == 1:
            return f"flow {one.flow}"
        return f"flow {one.flow} from its {'client' if one.forward else 'server'}"

    return list(map(name, directions))


def _least(direction: Direction) -> float:
    """Share of the largest one's payload from which a line is worth its place."""
    return ANSWERS_SHARE if direction.counted == "sent" else CHARTED_SHARE


def _of_the_log(case: Case) -> Chart | None:
    found = (chart_of(module, one) for one in case.charted for module in TIMELINES)
    first = next((drawn for drawn in found if drawn is not None), None)
    return first and first._replace(key=NAME)
