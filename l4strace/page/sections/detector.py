"""The fallback's detector: its inputs at each step, and the reductions that followed."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from l4strace.evidence import over_udp, traffic
from l4strace.page.case import Case
from l4strace.page.chart import Chart, chart_of
from l4strace.page.direction import Direction
from l4strace.page.figures import DETECTOR
from l4strace.wording.quantities import count

TITLE = "Classic-ECN detector"


class DetectorFlow(NamedTuple):
    """Detector plots of one direction."""

    key: str
    flow: int
    name: str
    origin: str
    build: str
    charts: tuple[Chart, ...]


class DetectorSection(NamedTuple):
    """``absent`` is the reason for having no plots, or empty."""

    flows: tuple[DetectorFlow, ...]
    absent: str

    @property
    def charts(self) -> tuple[Chart, ...]:
        """The charts of every direction."""
        return tuple(chart for flow in self.flows for chart in flow.charts)


ABSENT = (
    "No steps of the classic-ECN detector. It never runs without CE, newer Prague does not have "
    "it, and without a kernel log it is replayed only for ECT(1) senders that respond to marks as "
    "Prague does."
)
NONE_OVER_TCP = "The classic-ECN detector is part of TCP Prague, and no flow runs over TCP."
REPLAYED = "replayed from packets: what Prague's detector would compute"


def build(case: Case) -> DetectorSection:
    """Plots of every charted direction that has detector steps."""
    flows = tuple(_flow(d) for d in case.charted if d.detector.height and d.prague)
    if flows:
        return DetectorSection(flows, "")
    others = over_udp(case.evidence).height
    only = others and others == traffic(case.evidence).flows.height
    return DetectorSection((), NONE_OVER_TCP if only else ABSENT)


def _flow(direction: Direction) -> DetectorFlow:
    charts = (chart_of(module, direction) for module in DETECTOR)
    recorded = direction.detector["origin"][0] == "kernel"
    return DetectorFlow(
        direction.key,
        direction.flow,
        direction.name,
        "recorded by the kernel" if recorded else REPLAYED,
        _build(direction),
        tuple(chart for chart in charts if chart is not None),
    )


def _build(direction: Direction) -> str:
    """The builds whose compiled-in constants reproduce the recorded steps bit by bit."""
    named = direction.detector.filter(pl.col("build").is_not_null())
    if not named.height:
        return ""
    counts = named["build"].value_counts().sort("count", "build", descending=[True, False])
    return "; ".join(
        f"{'the' if place else 'The'} arithmetic of {count(steps, 'step')} matches the {build} "
        "build"
        for place, (build, steps) in enumerate(counts.iter_rows())
    )
