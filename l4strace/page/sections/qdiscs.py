"""Qdiscs: the queue as `tc -s qdisc` showed it, beside the queue that the packets show."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from l4strace.derive import vantage
from l4strace.derive.qdisc_polls import QDISC, summary
from l4strace.page.case import Case
from l4strace.page.chart import Chart
from l4strace.page.drawing.figure import Trace
from l4strace.page.drawing.layout import timeline
from l4strace.page.drawing.palette import FLOWS, RECORDED
from l4strace.page.drawing.series import MS, line, points_of
from l4strace.rules.support import qdiscs
from l4strace.schema.keys import KEY

TITLE = ""
DELAYS = {"delay_us": "", "delay_l_us": ", low-latency", "delay_c_us": ", classic"}
"""Columns of delays -> what the name of their curve ends in. DualPI2 states its own."""


class QdiscsSection(NamedTuple):
    """The chart, if a log of tc is among the inputs."""

    charts: tuple[Chart, ...]


def build(case: Case) -> QdiscsSection:
    """Delay of each qdisc over time."""
    traces = [] if case.evidence.qdiscs.is_empty() else [*_packets(case), *_polled(case)]
    if not traces:
        return QdiscsSection(())
    figure = timeline(traces, "ms", case.axis)
    caption = " ".join(qdiscs.sentences(case.evidence))
    title = "Queue delay as tc shows it: backlog at the rate at which it drains"
    return QdiscsSection((Chart("qdisc-delay", title, caption, figure.height, figure.spec),))


def _polled(case: Case) -> list[Trace]:
    """A curve for each delay of each qdisc that sent something."""
    shown = summary(case.evidence).head(qdiscs.QDISCS_SHOWN)
    x = case.axis.column("ts_ns").alias("x")
    polls = case.evidence.qdiscs.sort("ts_ns").with_columns(x)
    curves = [
        (f"{qdiscs.name(row)}{ending}", column, mine)
        for row in shown.iter_rows(named=True)
        for mine in [polls.filter(*(pl.col(name).eq_missing(row[name]) for name in QDISC))]
        for column, ending in DELAYS.items()
        if mine[column].count() and (ending or not mine["delay_l_us"].count())
    ]
    return [
        line(points_of(mine.drop_nulls(column), column, case.points, MS), name, stroke)
        for (name, column, mine), stroke in zip(curves, FLOWS, strict=False)
    ]


def _packets(case: Case) -> list[Trace]:
    """Queue delay of the direction that carried most, as its packets show it."""
    carried = case.evidence.directions.sort("payload_bytes", descending=True).head(1)
    x = case.axis.column("end_ns").alias("x")
    delays = case.evidence.rounds.select(*KEY, "end_ns", "queue_delay_us")
    near = vantage.of_rounds(case.evidence, delays)
    rounds = near.join(carried.select(KEY), on=KEY, how="semi")
    rounds = rounds.drop_nulls("queue_delay_us").with_columns(x)
    if rounds.is_empty():
        return []
    return [line(points_of(rounds, "queue_delay_us", case.points, MS), "packets", RECORDED)]
