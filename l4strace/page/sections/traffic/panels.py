"""The panels of the L4S demo: throughput, queue delay, marks and drops, round-trip time."""

from __future__ import annotations

import polars as pl

from l4strace.page.chart import Chart
from l4strace.page.drawing.figure import Figure, Trace
from l4strace.page.drawing.layout import COMPARING, chart, logarithmic, reference, timeline
from l4strace.page.drawing.palette import CE, LOSS, REFERENCE
from l4strace.page.drawing.series import MBIT, MS, Points, line, points, points_of
from l4strace.page.drawing.smooth import per_interval
from l4strace.page.figures.rtt import FEEDBACK
from l4strace.page.sections.traffic.link import Link
from l4strace.wording.amounts import duration, share
from l4strace.wording.quantities import count

PERCENT = 100
ENDS = ("start_ns", "end_ns")
"""Columns of `phases` between which the capacity is drawn."""
LOST = {False: "retransmitted", True: "reported as lost"}
"""What is known of losses, by whether the flow runs over UDP."""
LEAST_US = 10.0
"""The CDF's axis is logarithmic: a shorter delay is drawn here."""


def throughput(link: Link) -> Chart:
    """What each flow and all together delivered, under the capacity of the path."""
    slots, most, per_second = link.slots, link.case.points, 1 / link.interval
    total = points(slots.x, [8 * acked * per_second for acked in slots.acked_bytes], most, MBIT)
    traces = [line(total, part.name, part.stroke, width=1.2) for part in link.together]
    for flow in link.flows:
        rates = per_interval(flow.rounds.collect(), link.interval)
        curve = points(rates.x, rates.goodput_bps, most, MBIT)
        traces.append(line(curve, flow.name, flow.stroke))
    edges = [(row[side], row["capacity_bps"]) for row in link.phases for side in ENDS]
    if edges:
        seconds = [link.case.axis.seconds(ns) for ns, _ in edges]
        level = Points(seconds, [bps * MBIT for _, bps in edges])
        traces.append(line(level, "capacity", REFERENCE))
    figure = timeline(traces, "Mbit/s", link.case.axis, height=COMPARING)
    every = duration(link.interval * 1e6)
    counted = " or ".join(sorted({one.counted for one in link.directions})).capitalize()
    caption = f"{counted} payload per second, over intervals of {every}. {_used(link)}"
    return _chart("throughput", "Throughput and capacity", figure, caption)


def _used(link: Link) -> str:
    if link.utilization is not None:
        return f"{share(link.utilization, 1)} of the path's capacity was used where it is known."
    if link.phases:
        return (
            "The capacity is what packet trains suggest; no queue confirms it, so how much of it "
            "was used is unknown."
        )
    return "No queue shows the capacity of the path: how much of it was used is unknown."


def delay(link: Link) -> Chart | None:
    """CDF of the queue delay per flow and over all, by packets."""
    traces: list[Trace] = []
    facts = []
    seen: list[float] = []
    for part in (*link.together, *link.flows):
        if not (found := part.delays):
            continue
        curve = Points(
            [max(us, LEAST_US) * MS for us in found.values()], [PERCENT * s for s in found]
        )
        seen += curve.x
        traces.append(line(curve, part.name, part.stroke, width=1.8, paused=False))
        facts.append(f"{part.name}: {_middle_and_high(found)}")
    if not traces:
        return None
    figure = chart(traces, "ms", "% of packets", x=logarithmic(seen), height=COMPARING)
    for level, name in ((50, "median"), (99, "P99")):
        reference(figure, level, name)
    jitter = max((d.jitter_us or 0.0 for d in link.directions), default=0.0)
    noise = f" Jitter of {duration(jitter)} is part of it." if jitter else ""
    caption = f"Each packet has the mean queue delay of its round. {_listed(facts)}.{noise}"
    return _chart("delay", "Queue delay, cumulative", figure, caption)


def losses(link: Link) -> Chart | None:
    """Marked and retransmitted share of the packets of all flows."""
    slots = link.slots.busy()
    lost = " or ".join(LOST[udp] for udp in sorted({one.over_udp for one in link.directions}))
    traces = []
    for column, name, stroke in (("marks", "CE marks", CE), ("retransmits", lost, LOSS)):
        counts = getattr(slots, column)
        if not any(counts):
            continue
        parts = [min(n / all_, 1.0) for n, all_ in zip(counts, slots.acked_packets, strict=True)]
        traces.append(line(points(slots.x, parts, link.case.points, PERCENT), name, stroke))
    if not traces:
        return None
    packets, again, marked = sum(slots.acked_packets), sum(slots.retransmits), link.marked(link.all)
    caption = (
        f"Of {count(packets, 'delivered packet')} {marked.bound}{marked.packets:,} were marked "
        f"({share(marked.packets, packets)}) and {again:,} {lost} ({share(again, packets)})."
    )
    figure = timeline(traces, "% of packets", link.case.axis)
    return _chart("losses", "Marks and drops", figure, caption)


def round_trips(link: Link) -> Chart | None:
    """Mean RTT of each flow per interval."""
    x = (((pl.col("ended") / link.interval).floor() + 0.5) * link.interval).alias("x")
    traces = []
    facts = []
    for flow in link.flows:
        if not (found := flow.rtts):
            continue
        means = flow.rounds.group_by(x).agg(pl.col("rtt_mean_us").mean()).sort("x")
        data = points_of(means.collect(), "rtt_mean_us", link.case.points, MS)
        traces.append(line(data, flow.name, flow.stroke))
        facts.append(f"{flow.name}: {_middle_and_high(found)}")
    if not traces:
        return None
    figure = timeline(traces, "ms", link.case.axis, height=COMPARING, rangemode="normal")
    caption = f"Data to {FEEDBACK[any(one.over_udp for one in link.directions)]}. {_listed(facts)}."
    return _chart("round-trips", "Round-trip time, flow against flow", figure, caption)


def _listed(facts: list[str]) -> str:
    """Facts as one sentence, with a capital letter."""
    text = "; ".join(facts)
    return text[0].upper() + text[1:]


def _middle_and_high(found: dict[float, float]) -> str:
    return f"median {duration(found[0.5])}, P99 {duration(found[0.99])}"


def _chart(name: str, title: str, figure: Figure, caption: str) -> Chart:
    return Chart(f"traffic-{name}", title, caption, figure.height, figure.spec)
