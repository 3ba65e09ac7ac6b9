"""The panels of the L4S demo: throughput, queue delay, marks and drops, round-trip time."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from l4strace.page.chart import Chart
from l4strace.page.drawing.figure import Figure, Trace
from l4strace.page.drawing.layout import chart, reference, timeline
from l4strace.page.drawing.palette import CE, FLOWS, LOSS, RECORDED, REFERENCE, Stroke
from l4strace.page.drawing.series import Points, line, points_of
from l4strace.page.drawing.smooth import per_interval
from l4strace.page.sections.sharing import label
from l4strace.page.sections.traffic.link import Link, least, quantiles, queue_delay
from l4strace.wording.amounts import duration, share
from l4strace.wording.quantities import count

MBIT, MS, PERCENT = 1e-6, 1e-3, 100
ENDS = ("start_ns", "end_ns")
"""Of a phase: its capacity is drawn from one to the other."""
TALL = 230
"""Pixels of the panels that compare flows."""
SHARES = (*(n / 200 for n in range(1, 200)), 0.999, 1.0)
"""Of the packets, where the CDF has a point."""
LEAST_US = 10.0
"""The CDF's axis is logarithmic: a shorter delay is drawn here."""


def throughput(link: Link) -> Chart:
    """What each flow and all together delivered, under the capacity of the path."""
    rate = (pl.col("acked_bytes") * 8 / link.interval).alias("bps")
    total = points_of(link.slots.select("x", rate), "bps", link.case.points, MBIT)
    traces = [line(total, "all flows", RECORDED, width=1.2)]
    for name, stroke, rounds in _flows(link):
        rates = per_interval(rounds, link.interval)
        traces.append(line(points_of(rates, "goodput_bps", link.case.points, MBIT), name, stroke))
    edges = [(row[side], row["capacity_bps"]) for row in link.phases for side in ENDS]
    if edges:
        seconds = [link.case.axis.seconds(ns) for ns, _ in edges]
        level = Points(seconds, [bps * MBIT for _, bps in edges])
        traces.append(line(level, "capacity", REFERENCE))
    figure = timeline(traces, "Mbit/s", link.case.axis, height=TALL)
    every = duration(link.interval * 1e6)
    caption = f"Acknowledged payload per second, over intervals of {every}. {_used(link)}"
    return _chart("throughput", "Throughput and capacity", figure, caption)


def _used(link: Link) -> str:
    if link.utilization is None:
        return "No queue shows the capacity of the path: how much of it was used is unknown."
    return f"{share(link.utilization, 1)} of the path's capacity was used while it is known."


def delay(link: Link) -> Chart | None:
    """CDF of the queue delay per flow and over all, by packets."""
    traces: list[Trace] = []
    facts = []
    for name, stroke, rounds in (("all flows", RECORDED, link.rounds), *_flows(link)):
        delays, packets = queue_delay(rounds), rounds["acked_packets"]
        if not (found := quantiles(delays, packets, (*SHARES, 0.5, 0.99))):
            continue
        *found, middle, high = found
        curve = Points([max(us, LEAST_US) * MS for us in found], [PERCENT * s for s in SHARES])
        traces.append(line(curve, name, stroke, width=1.8, paused=False))
        facts.append(f"{name}: median {duration(middle)}, P99 {duration(high)}")
    if not traces:
        return None
    figure = chart(traces, "ms", "% of packets", x={"type": "log"}, height=TALL)
    for level, name in ((50, "median"), (99, "P99")):
        reference(figure, level, name)
    jitter = max((d.jitter_us or 0.0 for d in link.directions), default=0.0)
    part = f" Jitter of {duration(jitter)} is part of it." if jitter else ""
    caption = f"Mean queue delay of the round that a packet was in. {'; '.join(facts)}.{part}"
    return _chart("delay", "Queue delay, cumulative", figure, caption)


def losses(link: Link) -> Chart | None:
    """Marked and retransmitted share of the packets of all flows."""
    slots = link.slots.filter(pl.col("acked_packets") > 0)
    traces = []
    for column, name, stroke in (("marks", "CE marks", CE), ("retransmits", "retransmitted", LOSS)):
        if not slots[column].sum():
            continue
        part = (pl.col(column) / pl.col("acked_packets")).clip(upper_bound=1).alias("part")
        data = points_of(slots.select("x", part), "part", link.case.points, PERCENT)
        traces.append(line(data, name, stroke))
    if not traces:
        return None
    packets, marked, again = (
        int(slots[column].sum()) for column in ("acked_packets", "marks", "retransmits")
    )
    caption = (
        f"Of {count(packets, 'delivered packet')} {least(link.rounds)}{marked:,} were marked "
        f"({share(marked, packets)}) and {again:,} retransmitted ({share(again, packets)})."
    )
    figure = timeline(traces, "% of packets", link.case.axis)
    return _chart("losses", "Marks and drops", figure, caption)


def round_trips(link: Link) -> Chart | None:
    """Mean RTT of each flow per interval."""
    x = (((pl.col("ended") / link.interval).floor() + 0.5) * link.interval).alias("x")
    traces = []
    facts = []
    for name, stroke, rounds in _flows(link):
        means = rounds.group_by(x).agg(pl.col("rtt_mean_us").mean()).sort("x")
        found = quantiles(rounds["rtt_mean_us"], rounds["acked_packets"], (0.5, 0.99))
        if not found:
            continue
        traces.append(line(points_of(means, "rtt_mean_us", link.case.points, MS), name, stroke))
        middle, high = map(duration, found)
        facts.append(f"{name}: median {middle}, P99 {high}")
    if not traces:
        return None
    figure = timeline(traces, "ms", link.case.axis, height=TALL, rangemode="normal")
    caption = f"Data to acknowledgement. {'; '.join(facts)}."
    return _chart("round-trips", "Round-trip time, flow against flow", figure, caption)


def _flows(link: Link) -> Iterator[tuple[str, Stroke, pl.DataFrame]]:
    """Name, stroke and rounds of each flow with charts, as in the chart of the sharing."""
    for direction, rounds, stroke in zip(link.directions, link.flows, FLOWS, strict=False):
        yield label(direction), stroke, rounds


def _chart(name: str, title: str, figure: Figure, caption: str) -> Chart:
    return Chart(f"traffic-{name}", title, caption, figure.height, figure.spec)
