"""Timelines: per flow direction, charts over the run's shared time axis."""

from __future__ import annotations

from dataclasses import dataclass

from l4strace.page.case import Case
from l4strace.page.chart import Chart, chart_of
from l4strace.page.direction import Direction
from l4strace.page.figures import TIMELINES
from l4strace.wording.quantities import count

TITLE = "Timelines"


@dataclass(frozen=True)
class Timeline:
    """The charts of one direction."""

    key: str
    flow: int
    name: str
    about: str
    charts: tuple[Chart, ...]


@dataclass(frozen=True)
class TimelinesSection:
    """``start`` is the absolute time of second 0."""

    start: str
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
        f"{count(case.uncharted, 'more flow direction')} with little data and no warning have no "
        "charts (l4strace export rounds has all rounds)."
        if case.uncharted
        else ""
    )
    return TimelinesSection(case.axis.start_text, flows, left_out)


def _timeline(case: Case, direction: Direction) -> Timeline:
    charts = (chart_of(module, direction) for module in TIMELINES)
    return Timeline(
        direction.key,
        direction.flow,
        direction.name,
        _about(case, direction),
        tuple(chart for chart in charts if chart is not None),
    )


def _about(case: Case, direction: Direction) -> str:
    """Which inputs the charts come from."""
    inputs = case.inputs
    facts = []
    if direction.totals["packets"] is not None:
        facts.append(f"rounds as seen in {inputs[direction.source]}")
    if direction.far is not None:
        facts.append(f"arrivals in {inputs[direction.far]}")
    if direction.kernel.height:
        logs = direction.kernel["source"].unique(maintain_order=True).to_list()
        facts.append(f"kernel state from {', '.join(inputs[log] for log in logs)}")
    text = "; ".join(facts)
    return f"{text[:1].upper()}{text[1:]}." if facts else ""
