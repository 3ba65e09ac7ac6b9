"""Timelines: per flow direction, charts over the run's shared time axis."""

from __future__ import annotations

from typing import NamedTuple

from l4strace.model import Finding, Severity
from l4strace.page.case import Case
from l4strace.page.chart import Chart, chart_of
from l4strace.page.direction import Direction
from l4strace.page.drawing.layout import shade
from l4strace.page.drawing.palette import SEVERITIES
from l4strace.page.figures import TIMELINES
from l4strace.wording.quantities import count

TITLE = "Timelines"


MAX_SHADES = 5
"""Findings that shade each chart, the worst first: more would hide the curves."""


class Timeline(NamedTuple):
    """The charts of one direction."""

    key: str
    flow: int
    name: str
    about: str
    charts: tuple[Chart, ...]


class TimelinesSection(NamedTuple):
    """``start`` is the absolute time of second 0; ``shaded`` explains the shades, if any."""

    start: str
    shaded: str
    flows: tuple[Timeline, ...]
    left_out: str

    @property
    def charts(self) -> tuple[Chart, ...]:
        """The charts of every direction."""
        return tuple(chart for flow in self.flows for chart in flow.charts)


def build(case: Case) -> TimelinesSection:
    """Charts of the directions that matter."""
    flows = tuple(_timeline(case, direction) for direction in case.charted)
    left_out = (
        f"No charts of {count(case.uncharted, 'more flow direction')} with little data "
        "(l4strace export rounds has all rounds)."
        if case.uncharted
        else ""
    )
    any_shade = any(_shaded(case, direction) for direction in case.charted)
    shaded = "Shaded: when a finding about the flow holds." if any_shade else ""
    return TimelinesSection(case.axis.start_text, shaded, flows, left_out)


def _timeline(case: Case, direction: Direction) -> Timeline:
    found = (chart_of(module, direction) for module in TIMELINES)
    charts = [chart for chart in found if chart is not None]
    for row, (finding, span) in enumerate(_shaded(case, direction)):
        stroke = SEVERITIES[finding.severity.name.lower()]
        for chart in charts:
            shade(chart.spec["layout"], span, finding.rule, stroke, row)
    return Timeline(
        direction.key,
        direction.flow,
        direction.name,
        _about(case, direction),
        tuple(charts),
    )


def _shaded(case: Case, direction: Direction) -> list[tuple[Finding, tuple[float, float]]]:
    """Findings about a part of the run, and about this direction or all of them."""
    return [
        (finding, span)
        for finding in case.analysis.findings
        if finding.severity > Severity.INFO
        and finding.flow in (None, direction.flow)
        and finding.forward in (None, direction.forward)
        and (span := case.stretch(finding)) is not None
    ][:MAX_SHADES]


def _about(case: Case, direction: Direction) -> str:
    """Which inputs the charts come from."""
    inputs = case.inputs
    facts = []
    if direction.totals["packets"] is not None:
        rounds, rows = int(direction.rounds["round_trips"].sum()), direction.rounds.height
        together = f", {rounds:,} in {rows:,} rows" if rounds > rows else ""
        facts.append(f"rounds as seen in {inputs[direction.source]}{together}")
    if direction.far is not None:
        facts.append(f"arrivals in {inputs[direction.far]}")
    if direction.kernel.height:
        logs = direction.kernel["source"].unique(maintain_order=True).to_list()
        state = "window and counts of the sender" if direction.over_udp else "kernel state"
        facts.append(f"{state} from {', '.join(inputs[log] for log in logs)}")
    text = "; ".join(facts)
    return f"{text[:1].upper()}{text[1:]}." if facts else ""
