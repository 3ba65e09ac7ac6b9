"""Traffic: throughput, queue delay, marks, round trips and short flows of the busiest path."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from l4strace.page.case import Case
from l4strace.page.chart import Chart
from l4strace.page.sections.traffic import panels, short
from l4strace.page.sections.traffic.link import Link, Part, busiest
from l4strace.page.sections.traffic.short import ShortRow
from l4strace.schema.keys import KEY
from l4strace.wording.amounts import NONE, bit_rate, duration, share

TITLE = "Traffic"
ABSENT = "No round trip with data is known."
OVER_UDP = "Rates of flows over UDP stand with their charts."


class TrafficRow(NamedTuple):
    """One flow of the path, or all; ``key`` is its place on the page (empty: none)."""

    name: str
    key: str
    throughput: str
    part: str
    """Share of what the path delivered."""
    used: str
    """Share of the capacity that was used."""
    delay: str
    """Queue delay, median and P99, by packets."""
    marked: str
    again: str
    rtt: str


class TrafficSection(NamedTuple):
    """``path`` names the networks; ``absent`` is the reason for an empty section, or empty."""

    path: str
    rows: tuple[TrafficRow, ...]
    charts: tuple[Chart, ...]
    short: tuple[ShortRow, ...]
    absent: str


def build(case: Case) -> TrafficSection:
    """Panels of the path that carried most."""
    completion = short.completion(case)
    link = busiest(case)
    drawn: list[Chart | None] = []
    if link is not None:
        drawn = [part(link) for part in (panels.throughput, panels.delay, panels.losses)]
        drawn.append(panels.round_trips(link))
    charts = tuple(chart for chart in (*drawn, completion) if chart is not None)
    sent = not case.evidence.udp_rounds.is_empty()
    absent = "" if charts else f"{ABSENT} {OVER_UDP * sent}".strip()
    rows = () if link is None else _rows(link)
    path = "" if link is None else link.path.replace(">", " → ")
    return TrafficSection(path, rows, charts, short.table(case), absent)


def _rows(link: Link) -> tuple[TrafficRow, ...]:
    return tuple(_row(link, part) for part in (*link.flows, *link.together))


def _row(link: Link, shown: Part) -> TrafficRow:
    sums = shown.totals
    delivered, acked = int(sums["acked_packets"].sum()), int(sums["acked_bytes"].sum())
    part = acked / max(sum(link.slots.acked_bytes), 1)
    used, marked = link.utilization, link.marked(shown)
    return TrafficRow(
        name=shown.name,
        key=shown.key,
        throughput=bit_rate(_rate(sums, acked)),
        part=share(part, 1),
        used=share(None if used is None else used * part, 1),
        delay=_pair(shown.delays),
        marked=marked.bound + share(marked.packets, delivered),
        again=_retransmitted(link, sums),
        rtt=_pair(shown.rtts),
    )


def _retransmitted(link: Link, sums: pl.DataFrame) -> str:
    """Share of the delivered packets whose transport shows which are retransmitted."""
    counted = link.case.evidence.directions.select(*KEY, "retransmits").drop_nulls("retransmits")
    known = sums.join(counted, on=KEY, how="semi")
    return share(int(known["retransmits"].sum()), int(known["acked_packets"].sum()))


def _rate(sums: pl.DataFrame, acked: int) -> float | None:
    """Payload per second from the first round to the last."""
    first, last = sums["start_ns"].min(), sums["end_ns"].max()
    if not isinstance(first, int) or not isinstance(last, int) or last <= first:
        return None
    return 8e9 * acked / (last - first)


def _pair(found: dict[float, float]) -> str:
    """Median and P99."""
    return f"{duration(found[0.5])} / {duration(found[0.99])}" if found else NONE
