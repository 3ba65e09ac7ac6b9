"""One flow direction with every table that a chart of it needs, already filtered."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from l4strace.derive.noise import NOTED_US
from l4strace.derive.senders.cuts import with_regrowth
from l4strace.page.drawing.smooth import interval_of
from l4strace.page.drawing.thin import MAX_POINTS
from l4strace.schema.words import PRAGUE
from l4strace.wording import mark_bounds
from l4strace.wording.moments import TimeAxis
from l4strace.wording.names import FANCY_ARROW, direction_key, direction_name, negotiated, sender

if TYPE_CHECKING:
    from l4strace.evidence import Evidence

PRAGUE_LAWS = ("alpha/2", "floor")
"""Laws of `laws.law` that Prague's window follows."""


@dataclass(frozen=True)
class Direction:
    """A flow direction as the input nearest to its sender (``source``) shows it.

    ``far`` is the input nearest to its receiver, when there is another one; ``totals`` the row of
    `directions`, whose counters are null where only a kernel log knows the flow.
    """

    evidence: Evidence
    axis: TimeAxis
    flow: int
    forward: bool
    source: int
    far: int | None
    totals: dict[str, Any]
    points: int = MAX_POINTS

    def drawn_with(self, points: int) -> Direction:
        """This direction with another bound on points; its looked-up tables are kept."""
        other = copy(self)
        vars(other).update(points=points)
        return other

    @property
    def key(self) -> str:
        """Stable id on the page: ``flow-3`` or ``flow-3-reverse``."""
        return direction_key(self.flow, self.forward)

    @cached_property
    def row(self) -> dict[str, Any]:
        """The row of `flows`."""
        flows = self.evidence.flows
        here = (flows["source"] == self.source) & (flows["flow"] == self.flow)
        return chosen(flows, here).row(0, named=True)

    @cached_property
    def name(self) -> str:
        """Sender to receiver, with ports."""
        return direction_name(self.row, self.forward, FANCY_ARROW)

    @property
    def label(self) -> str:
        """Number, sender and codepoint, where flows are compared."""
        return f"flow {self.flow} ({self.nature})"

    @cached_property
    def nature(self) -> str:
        """Sender and codepoint: `cubic, ECT(0)`."""
        control = self.totals["cc"] or ""
        who = sender(negotiated(self.row), control) if self.over_udp else control
        return f"{who}, {self.codepoint}" if who else self.codepoint

    @property
    def over_udp(self) -> bool:
        """The flow is not one of TCP, so `transports.drawn` made its `rounds`."""
        return self.row["transport"] not in (None, "tcp")

    @property
    def counted(self) -> str:
        """What is known of the payload that its rates count."""
        if not self.over_udp:
            return "acknowledged"
        return "reported" if self.totals["reported_packets"] else "sent"

    @cached_property
    def delivered_bytes(self) -> int:
        """Payload that its rates count."""
        if self.over_udp:
            return int(self.rounds["acked_bytes"].sum())
        return int(self.totals["acked_bytes"])

    @cached_property
    def rounds(self) -> pl.DataFrame:
        """`rounds` near the sender, with ``x``."""
        return self._timed(self.evidence.rounds, "start_ns", self.source)

    @cached_property
    def interval(self) -> float:
        """Seconds of the intervals of its rates."""
        return interval_of(self.rounds, self.axis.length)

    @cached_property
    def far_rounds(self) -> pl.DataFrame:
        """`rounds` near the receiver, with ``x``; empty with one input."""
        rounds = self.evidence.rounds
        return self._timed(rounds.clear() if self.far is None else rounds, "start_ns", self.far)

    @cached_property
    def kernel(self) -> pl.DataFrame:
        """`kernel` samples of the sender, with ``x``; over UDP those of its own log.

        Nothing before prague_init: its hooks run on the SYN/ACK too, with a zeroed private area. Of
        a sender over UDP nothing before the first feedback: until then its window is a constant.
        """
        log = self.evidence.udp_kernel if self.over_udp else self.evidence.kernel
        samples = self._timed(log, "ts_ns")
        if samples.is_empty():
            return samples
        if self.over_udp:
            answered = samples.filter(pl.col("delivered").is_not_null())["ts_ns"].min()
            return samples if answered is None else samples.filter(pl.col("ts_ns") >= answered)
        begun = samples.filter(pl.col("event") == "init")["ts_ns"].min()
        return samples if begun is None else samples.filter(pl.col("ts_ns") > begun)

    @property
    def recorder(self) -> str:
        """What recorded the samples of `kernel`."""
        return "sender's log" if self.over_udp else "kernel"

    @cached_property
    def detector(self) -> pl.DataFrame:
        """`detector` steps: the kernel's where it recorded any, else replayed from packets."""
        return self._best(self._timed(self.evidence.detector, "ts_ns"))

    @cached_property
    def cuts(self) -> pl.DataFrame:
        """`cuts`: the kernel's where it recorded any, else those estimated from packets."""
        return self._best(self._timed(self.evidence.cuts, "ts_ns"))

    @cached_property
    def reductions(self) -> pl.DataFrame:
        """When, by how much and by which law the window was reduced: `cuts` of a known size.

        ``proven``: the reduction has this law without growth after it.
        """
        cuts = self.cuts.drop_nulls("fraction")
        drawn = with_regrowth(cuts)
        return drawn.select("x", "fraction", "law", "origin", proven=drawn["law"] == cuts["law"])

    @cached_property
    def arrived_ce(self) -> int | None:
        """Data packets that arrived with CE at the capture near the receiver; null without one."""
        if self.far is None:
            return None
        rows = self._rows(self.evidence.directions, self.far)
        arrived = rows.select(pl.coalesce("ce_segments", "data_ce")).to_series()
        return int(arrived[0]) if arrived.count() else None

    @cached_property
    def ece_acks(self) -> int:
        """ACKs of the receiver that carry classic ECE."""
        return (self._back or {}).get("ece_acks") or 0

    @cached_property
    def bounds_why(self) -> str:
        """Why feedback gives a range of marks; empty where it gives one number."""
        return mark_bounds.why(self.totals, self._back)

    @cached_property
    def _back(self) -> dict[str, Any] | None:
        """The row of `directions` of what comes back; null without."""
        back = rows_of(self.evidence.directions, self.flow, not self.forward, self.source)
        return back.row(0, named=True) if back.height else None

    @cached_property
    def codepoint(self) -> str:
        """Codepoint of most data packets as they were sent."""
        names = (("data_ect1", "ECT(1)"), ("data_ect0", "ECT(0)"), ("data_not_ect", "Not-ECT"))
        return max(names, key=lambda column: self.totals[column[0]] or 0)[1]

    @cached_property
    def scalable(self) -> bool:
        """The sender meant L4S: its data leaves as ECT(1), or its log states an alpha."""
        ect1 = self.totals["data_ect1"] or 0
        return ect1 > (self.totals["data_ect0"] or 0) or self.kernel["alpha"].count() > 0

    @cached_property
    def prague(self) -> bool:
        """The sender is known to be Prague, or likely: its window follows one of Prague's laws."""
        if self.kernel["classic_ecn"].count():
            return True
        if controls := self.totals["cc"]:
            return not set(controls.split(", ")).isdisjoint(PRAGUE)
        own = self._rows(self.evidence.laws)
        return self.scalable and own["law"].is_in(PRAGUE_LAWS).any()

    @cached_property
    def bottleneck(self) -> dict[str, Any] | None:
        """The row of `bottlenecks`, or null."""
        rows = self._rows(self.evidence.bottlenecks, self.source)
        return rows.row(0, named=True) if rows.height else None

    @cached_property
    def jitter_us(self) -> float | None:
        """Jitter of the path from where it is noted (L4S405); it is part of every RTT."""
        found = self._rows(self.evidence.noise, self.source)["common_us"].max()
        return found if isinstance(found, float) and found >= NOTED_US else None

    def _rows(self, table: pl.DataFrame, source: int | None = None) -> pl.DataFrame:
        """Rows of this direction, as one input saw it or whichever they come from."""
        return rows_of(table, self.flow, self.forward, source)

    def _timed(self, table: pl.DataFrame, stamp: str, source: int | None = None) -> pl.DataFrame:
        """Rows of this direction in the order of ``x``, in which they mostly are."""
        own = self._rows(table, source)
        if own.is_empty():
            return own.hstack([pl.Series("x", [], pl.Float64)])
        timed = own.with_columns(self.axis.column(stamp))
        return timed if timed["x"].is_sorted() else timed.sort("x", maintain_order=True)

    def _best(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows that the kernel recorded; else those of this input; else any."""
        for better in (rows["origin"] == "kernel", rows["source"] == self.source):
            if better.any():
                return chosen(rows, better)
        return rows


def rows_of(
    table: pl.DataFrame, flow: int, forward: bool, source: int | None = None
) -> pl.DataFrame:
    """Rows of one direction, as input ``source`` saw it or whichever they come from."""
    wanted = (table["flow"] == flow) & (table["forward"] == forward)
    return chosen(table, wanted if source is None else wanted & (table["source"] == source))


def chosen(table: pl.DataFrame, wanted: pl.Series) -> pl.DataFrame:
    """The ``wanted`` rows; where they lie together, as a direction's mostly do, not a copy."""
    count, first = int(wanted.sum()), wanted.arg_max()
    if not count or first is None:
        return table.clear()
    together = wanted.slice(first, count).sum() == count
    return table.slice(first, count) if together else table.filter(wanted)
