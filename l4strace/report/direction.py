"""One flow direction with every table that a chart of it needs, already filtered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from l4strace.report.axis import TimeAxis
from l4strace.report.names import direction_key, direction_name, flow_name
from l4strace.report.thin import MAX_POINTS

if TYPE_CHECKING:
    from l4strace.evidence import Evidence

NEARNESS = {
    True: ("client", "middle", "unknown", "server"),
    False: ("server", "middle", "unknown", "client"),
}
"""Vantages by how near they are to the sender of a direction, forward and reverse."""


@dataclass(frozen=True)
class Direction:
    """A flow direction as the input nearest to its sender (``source``) shows it.

    ``far`` is the input nearest to its receiver, when there is another one.
    """

    evidence: Evidence
    axis: TimeAxis
    flow: int
    forward: bool
    source: int
    far: int | None
    points: int = MAX_POINTS

    @property
    def key(self) -> str:
        """Stable id on the page: ``flow-3`` or ``flow-3-reverse``."""
        return direction_key(self.flow, self.forward)

    @cached_property
    def row(self) -> dict[str, Any]:
        """The row of `flows`."""
        return self._rows(self.evidence.flows, forward=False).row(0, named=True)

    @cached_property
    def totals(self) -> dict[str, Any]:
        """The row of `directions`."""
        return self._rows(self.evidence.directions).row(0, named=True)

    @cached_property
    def name(self) -> str:
        """Sender to receiver, with ports."""
        return direction_name(self.row, self.forward)

    @cached_property
    def flow_name(self) -> str:
        """Client to server with ports."""
        return flow_name(self.row)

    @cached_property
    def rounds(self) -> pl.DataFrame:
        """`rounds` near the sender, with ``x``."""
        return self._timed(self._rows(self.evidence.rounds), "start_ns")

    @cached_property
    def far_rounds(self) -> pl.DataFrame:
        """`rounds` near the receiver, with ``x``; empty with one input."""
        rows = self._rows(self.evidence.rounds, self.far if self.far is not None else -1)
        return self._timed(rows, "start_ns")

    @cached_property
    def kernel(self) -> pl.DataFrame:
        """`kernel` samples of the sender, with ``x``.

        Nothing before prague_init: its hooks run on the SYN/ACK too, with a zeroed private area.
        """
        samples = self._timed(self._any(self.evidence.kernel), "ts_ns")
        begun = samples.filter(pl.col("event") == "init")["ts_ns"].min()
        return samples if begun is None else samples.filter(pl.col("ts_ns") > begun)

    @cached_property
    def detector(self) -> pl.DataFrame:
        """`detector` steps: the kernel's where it recorded any, else replayed from packets."""
        steps = self._timed(self._any(self.evidence.detector), "ts_ns")
        recorded = steps.filter(pl.col("origin") == "kernel")
        return recorded if recorded.height else steps.filter(self._here(steps))

    @cached_property
    def cuts(self) -> pl.DataFrame:
        """`cuts`: the kernel's where it recorded any, else those estimated from packets."""
        cuts = self._timed(self._any(self.evidence.cuts), "ts_ns")
        recorded = cuts.filter(pl.col("origin") == "kernel")
        return recorded if recorded.height else cuts.filter(self._here(cuts))

    @cached_property
    def arrived_ce(self) -> int | None:
        """Data packets that arrived with CE at the capture near the receiver; null without one."""
        if self.far is None:
            return None
        rows = self._rows(self.evidence.directions, self.far)
        return int(rows["data_ce"][0]) if rows.height else None

    @cached_property
    def ece_acks(self) -> int:
        """ACKs of the receiver that carry classic ECE."""
        back = self.evidence.directions.filter(
            (pl.col("source") == self.source)
            & (pl.col("flow") == self.flow)
            & (pl.col("forward") != self.forward)
        )
        return int(back["ece_acks"].sum() or 0)

    @cached_property
    def codepoint(self) -> str:
        """What most data packets left as."""
        names = (("data_ect1", "ECT(1)"), ("data_ect0", "ECT(0)"), ("data_not_ect", "Not-ECT"))
        return max(names, key=lambda column: self.totals[column[0]] or 0)[1]

    @cached_property
    def scalable(self) -> bool:
        """The sender meant L4S: its data leaves as ECT(1), or its kernel logged an alpha."""
        ect1 = self.totals["data_ect1"] or 0
        return ect1 > (self.totals["data_ect0"] or 0) or self.kernel["alpha"].count() > 0

    @cached_property
    def bottleneck(self) -> dict[str, Any] | None:
        """The row of `bottlenecks`, or null."""
        rows = self._rows(self.evidence.bottlenecks)
        return rows.row(0, named=True) if rows.height else None

    def _here(self, rows: pl.DataFrame) -> pl.Expr:
        """Rows of this input when it has any of ``rows``, else all of them."""
        own = pl.col("source") == self.source
        return own if rows.filter(own).height else pl.lit(value=True)

    def _any(self, table: pl.DataFrame) -> pl.DataFrame:
        """Rows of this direction, whichever input they come from."""
        return table.filter((pl.col("flow") == self.flow) & (pl.col("forward") == self.forward))

    def _rows(
        self, table: pl.DataFrame, source: int | None = None, *, forward: bool = True
    ) -> pl.DataFrame:
        wanted = (pl.col("source") == (self.source if source is None else source)) & (
            pl.col("flow") == self.flow
        )
        if forward:
            wanted &= pl.col("forward") == self.forward
        return table.filter(wanted)

    def _timed(self, rows: pl.DataFrame, stamp: str) -> pl.DataFrame:
        return rows.with_columns(self.axis.column(stamp)).sort("x", maintain_order=True)


def nearest(flows: pl.DataFrame, *, forward: bool) -> pl.DataFrame:
    """Per flow the inputs nearest to sender (``near``) and receiver (``far``; null with one)."""
    order = {vantage: place for place, vantage in enumerate(NEARNESS[forward])}
    place = pl.col("vantage").replace_strict(order, default=2, return_dtype=pl.Int8)
    ranked = flows.select("flow", "source", place.alias("place")).sort("flow", "place", "source")
    return ranked.group_by("flow", maintain_order=True).agg(
        pl.col("source").first().alias("near"),
        pl.when(pl.len() > 1).then(pl.col("source").last()).alias("far").first(),
    )
