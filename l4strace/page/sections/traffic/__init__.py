"""Traffic: throughput, queue delay, marks, round trips and short flows of the busiest path."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from l4strace.page.case import Case
from l4strace.page.chart import Chart
from l4strace.page.sections.sharing import label
from l4strace.page.sections.traffic import panels, short
from l4strace.page.sections.traffic.link import Link, busiest, least, quantiles, queue_delay
from l4strace.page.sections.traffic.short import ShortRow
from l4strace.wording.amounts import NONE, bit_rate, duration, share

TITLE = "Traffic"

ALL = "all flows"


class TrafficRow(NamedTuple):
    """One flow of the path, or all; ``key`` is its place on the page (empty: none)."""

    name: str
    key: str
    throughput: str
    part: str
    """Of what the path delivered."""
    used: str
    """Of the capacity."""
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
    absent = "" if charts else "No round trip with data: nothing to measure."
    rows = () if link is None else _rows(link)
    path = "" if link is None else link.path.replace(">", " → ")
    return TrafficSection(path, rows, charts, short.table(case), absent)


def _rows(link: Link) -> tuple[TrafficRow, ...]:
    both = zip(link.directions, link.flows, strict=True)
    flows = (_row(link, label(direction), direction.key, rounds) for direction, rounds in both)
    return (*flows, _row(link, ALL, "", link.rounds))


def _row(link: Link, name: str, key: str, rounds: pl.DataFrame) -> TrafficRow:
    packets = rounds["acked_packets"]
    delivered, acked = int(packets.sum()), int(rounds["acked_bytes"].sum())
    part = acked / max(int(link.rounds["acked_bytes"].sum()), 1)
    used = link.utilization
    return TrafficRow(
        name=name,
        key=key,
        throughput=bit_rate(_rate(rounds, acked)),
        part=share(part, 1),
        used=share(None if used is None else used * part, 1),
        delay=_pair(quantiles(queue_delay(rounds), packets, (0.5, 0.99))),
        marked=least(rounds) + share(int(rounds["marks"].sum()), delivered),
        again=share(int(rounds["retransmits"].sum()), delivered),
        rtt=_pair(quantiles(rounds["rtt_mean_us"], packets, (0.5, 0.99))),
    )


def _rate(rounds: pl.DataFrame, acked: int) -> float | None:
    """Payload per second from the first round to the last."""
    first, last = rounds["start_ns"].min(), rounds["end_ns"].max()
    if not isinstance(first, int) or not isinstance(last, int) or last <= first:
        return None
    return 8e9 * acked / (last - first)


def _pair(found: list[float]) -> str:
    return " / ".join(map(duration, found)) or NONE
