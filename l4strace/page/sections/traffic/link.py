"""The path that carried most: its rounds, its directions, and what of its capacity was used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import polars as pl

from l4strace.core import _native
from l4strace.derive import neighbors, numbers, vantage
from l4strace.page.case import CHARTED_SHARE, Case
from l4strace.page.direction import Direction, rows_of
from l4strace.page.drawing.palette import FLOWS, RECORDED, Stroke
from l4strace.page.drawing.smooth import interval_of, middles
from l4strace.schema.keys import KEY
from l4strace.schema.vantage import receiver

SHARES = (*(n / 200 for n in range(1, 200)), 0.999, 1.0)
"""Shares of the packets at which the CDF of the queue delay has a point."""

COUNTED = (
    *("end_ns", "acked_packets", "acked_bytes", "retransmits"),
    *("ce_best", "ece_acks", "ce"),
)
"""Columns of `rounds` that `_native` adds up."""


def quantiles(values: pl.Series, weights: pl.Series, shares: Sequence[float]) -> dict[float, float]:
    """Quantiles by share of the weights; empty without a weighted value.

    Weights are whole numbers.
    """
    rows = pl.DataFrame({"value": values.cast(pl.Float64), "weight": weights.cast(pl.Float64)})
    return dict(zip(shares, _native.quantiles(rows.rechunk(), shares), strict=False))


@dataclass(frozen=True)
class Part:
    """The rounds of one flow of the path, or of all; ``key`` is its place on the page or empty.

    Of a busy path they are many: each panel takes the columns that it needs, and no copy is kept.
    """

    name: str
    key: str
    stroke: Stroke
    rounds: pl.LazyFrame
    totals: pl.DataFrame
    """What the rounds of each direction add up to: `_native.totals`."""

    @cached_property
    def delays(self) -> dict[float, float]:
        """Queue delay in us by share of packets: of the RTT, else one-way between two captures."""
        return self._quantiles(pl.coalesce("queue_delay_us", "owd_mean_us"), SHARES)

    @cached_property
    def rtts(self) -> dict[float, float]:
        """Median and P99, over packets, of the mean RTT of their rounds in us."""
        return self._quantiles(pl.col("rtt_mean_us"), (0.5, 0.99))

    def _quantiles(self, value: pl.Expr, shares: Sequence[float]) -> dict[float, float]:
        rows = self.rounds.select(value.alias("value"), "acked_packets").collect()
        return quantiles(rows["value"], rows["acked_packets"], shares)


class Marks(NamedTuple):
    """Packets that were marked; at least so many, unless ``exact``."""

    packets: int
    exact: bool

    @property
    def bound(self) -> str:
        return "" if self.exact else "at least "


class Slots(NamedTuple):
    """Intervals in order, with their middle ``x`` (s); 0 where nothing was acknowledged."""

    x: list[float]
    acked_bytes: list[int]
    acked_packets: list[int]
    marks: list[int]
    retransmits: list[int]

    def busy(self) -> Slots:
        """The slots in which packets were acknowledged."""
        kept = [slot for slot, packets in enumerate(self.acked_packets) if packets]
        counts = ([column[slot] for slot in kept] for column in self[1:])
        return Slots([self.x[slot] for slot in kept], *counts)


@dataclass(frozen=True)
class Link:
    """One path as one input saw it: ``directions`` are those with charts."""

    case: Case
    source: int
    path: str
    directions: tuple[Direction, ...]

    @cached_property
    def ways(self) -> pl.DataFrame:
        """`KEY` of the directions of the path."""
        evidence = self.case.evidence
        path = (pl.col("source") == self.source) & (pl.col("path") == self.path)
        ways = neighbors.directions(evidence).select(*KEY, "path").filter(path).select(KEY)
        return ways.join(vantage.nearest(evidence), on=KEY, how="semi")

    @cached_property
    def own(self) -> pl.Series:
        """Which of `rounds` are of the path."""
        own = numbers.looked_up(self.case.evidence, self.ways.with_columns(own=True), "own")
        return own.fill_null(value=False)

    @cached_property
    def totals(self) -> pl.DataFrame:
        """What the rounds of each direction add up to, on any path."""
        rounds = self.case.evidence.rounds.select(*KEY, "start_ns", *COUNTED)
        return pl.DataFrame(_native.totals(rounds.rechunk()))

    @cached_property
    def rounds(self) -> pl.LazyFrame:
        """`rounds` of every flow of the path, with ``x`` and ``ended`` (s)."""
        return self._drawn(self.case.evidence.rounds.lazy().filter(self.own))

    def _drawn(self, rounds: pl.LazyFrame) -> pl.LazyFrame:
        x = self.case.axis.column
        return rounds.with_columns(x("start_ns"), x("end_ns").alias("ended"))

    @cached_property
    def all(self) -> Part:
        """All flows of the path together."""
        unread = self.case.evidence.udp_flows.height
        name = "all flows whose feedback is read" if unread else "all flows"
        own = self.totals.join(self.ways, on=KEY, how="semi")
        return Part(name, "", RECORDED, self.rounds, own)

    @cached_property
    def together(self) -> tuple[Part, ...]:
        """All flows together, unless one of them carried nearly everything."""
        if len(self.flows) != 1:
            return (self.all,)
        own, everything = (
            int(part.totals["acked_bytes"].sum()) for part in (*self.flows, self.all)
        )
        return (self.all,) if own < (1 - CHARTED_SHARE) * everything else ()

    @cached_property
    def flows(self) -> tuple[Part, ...]:
        """Each of the directions with charts, as the chart of the sharing shows it."""
        tables = (self.case.evidence.rounds, self.totals)
        own = (
            [rows_of(table, one.flow, one.forward, self.source) for table in tables]
            for one in self.directions
        )
        return tuple(
            Part(one.label, one.key, stroke, self._drawn(rounds.lazy()), totals)
            for one, stroke, (rounds, totals) in zip(self.directions, FLOWS, own, strict=False)
        )

    @cached_property
    def arrived(self) -> dict[tuple[int, bool], int]:
        """Data packets with CE of each direction that a capture saw at its receiver."""
        views = self.case.evidence.directions.join(
            self.case.evidence.flows.select("source", "flow", "vantage"), on=["source", "flow"]
        )
        return _by_direction(views.filter(pl.col("vantage") == receiver()), "ce_segments")

    @cached_property
    def answered(self) -> dict[tuple[int, bool], int]:
        """Packets with CWR of each direction: as many marks at least."""
        near = self.case.evidence.directions.filter(pl.col("source") == self.source)
        return _by_direction(near.drop_nulls("cwr_packets"), "cwr_packets")

    def marked(self, part: Part) -> Marks:
        """Marked packets of the part's rounds.

        As feedback or a capture at the receiver counts; of ECE, which lasts, its beginnings.
        """
        echoed = part.totals["begins"] > 0
        ways = part.totals.filter(echoed).select("flow", "forward", "begins").iter_rows()
        counts = [Marks(int(part.totals.filter(~echoed)["marks"].sum()), exact=True)]
        counts += [self._echoed((flow, forward), begins) for flow, forward, begins in ways]
        return Marks(sum(one.packets for one in counts), all(one.exact for one in counts))

    def _echoed(self, direction: tuple[int, bool], begins: int) -> Marks:
        """CE of one direction whose feedback is only ECE, which began so often."""
        if direction in self.arrived:
            return Marks(self.arrived[direction], exact=True)
        return Marks(max(begins, self.answered.get(direction, 0)), exact=False)

    @cached_property
    def interval(self) -> float:
        """Seconds of the intervals in which the panels count."""
        # Of the slowest flow: shorter ones would see each of its rounds as a peak and a gap.
        if self.directions:
            return max(direction.interval for direction in self.directions)
        lengths = self.all.rounds.select("start_ns", "end_ns", "acked_bytes")
        return interval_of(lengths.collect(), self.case.axis.length)

    @cached_property
    def slots(self) -> Slots:
        """Sums over all flows per interval."""
        rounds = self.case.evidence.rounds.select(*COUNTED, self.own.alias("own")).rechunk()
        origin_ns, interval = self.case.axis.origin_ns, self.interval
        first, found = _native.path_slots(rounds, origin_ns, interval)
        return Slots(middles(first, len(found[0]), interval), *found)

    @cached_property
    def phases(self) -> list[dict[str, Any]]:
        """Rows of `phases` of the path whose capacity is known, in order."""
        table = self.case.evidence.phases
        own = (pl.col("source") == self.source) & (pl.col("path") == self.path)
        return table.filter(own).drop_nulls("capacity_bps").sort("phase").to_dicts()

    @property
    def utilization(self) -> float | None:
        """Delivered payload over capacity, where a busy path shows the capacity; null without."""
        shown = [row for row in self.phases if row["capacity_shown"]]
        lengths = [row["end_ns"] - row["start_ns"] for row in shown]
        could = sum(row["capacity_bps"] * ns for row, ns in zip(shown, lengths, strict=True))
        did = sum(row["rate_bps"] * ns for row, ns in zip(shown, lengths, strict=True))
        return did / could if could else None


def busiest(case: Case) -> Link | None:
    """The path that carried most payload; null without a round trip of data."""
    directions = neighbors.directions(case.evidence).select(*KEY, "path", "payload_bytes")
    seen = vantage.once(case.evidence, directions)
    carried = seen.group_by("source", "path").agg(pl.col("payload_bytes").sum())
    carried = carried.filter(pl.col("payload_bytes") > 0).sort(
        "payload_bytes", "source", "path", descending=[True, False, False]
    )
    if carried.is_empty():
        return None
    source, path, _ = carried.row(0)
    drawn = pl.col("flow").is_in([d.flow for d in case.charted])
    here = seen.filter(drawn & (pl.col("source") == source) & (pl.col("path") == path))
    on_path = set(here.select("flow", "forward").iter_rows())
    charted = tuple(d for d in case.charted if (d.flow, d.forward) in on_path)
    link = Link(case, source, path, charted)
    return link if link.all.totals.height else None


def _by_direction(rows: pl.DataFrame, column: str) -> dict[tuple[int, bool], int]:
    return {(flow, up): n for flow, up, n in rows.select("flow", "forward", column).iter_rows()}
