"""The case that a page reports: evidence, the rules' analysis of it, and the command line."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from l4strace.derive.short_flows import FEW_BYTES
from l4strace.derive.vantage import nearest
from l4strace.evidence import traffic
from l4strace.model import Analysis, Finding, Severity
from l4strace.page.direction import Direction
from l4strace.page.drawing.thin import MAX_POINTS
from l4strace.page.transports import drawn
from l4strace.schema.keys import KEY
from l4strace.wording.moments import TimeAxis, axis_of
from l4strace.wording.names import direction_key, short_names
from l4strace.wording.verdict import conversations, counted

if TYPE_CHECKING:
    from l4strace.evidence import Evidence

MAX_CHARTED = 6
"""Flow directions that get charts."""
MAX_LISTED = 1_000
"""Rows of the table of flows, which shows them page by page; `l4strace flows` lists all."""
CHARTED_SHARE = 0.01
"""A direction without finding gets charts when it carried this share of the largest one's bytes."""

WHOLE_RUN_SHARE = 0.95
"""Share of the run from which a stretch is not shaded: it would cover the whole chart."""


@dataclass(frozen=True)
class Case:
    """``command`` and ``stamp`` are shown as given; ``points`` bounds each series."""

    evidence: Evidence
    analysis: Analysis
    command: str = ""
    stamp: str | None = None
    points: int = MAX_POINTS

    def drawn_with(self, points: int) -> Case:
        """This case with another bound on points; its looked-up tables are kept."""
        other = copy(self)
        charted = tuple(direction.drawn_with(points) for direction in self.charted)
        vars(other).update(points=points, charted=charted)
        return other

    @cached_property
    def axis(self) -> TimeAxis:
        """The shared time axis."""
        return axis_of(self.evidence)

    def stretch(self, finding: Finding) -> tuple[float, float] | None:
        """When ``finding`` holds, on that axis; null where it holds for the run."""
        if finding.span_ns is None:
            return None
        start, end = map(self.axis.seconds, finding.span_ns)
        start, end = max(start, 0.0), min(end, self.axis.length)
        return (start, end) if end - start < WHOLE_RUN_SHARE * self.axis.length else None

    @cached_property
    def inputs(self) -> dict[int, str]:
        """Short name of each input."""
        sources = self.evidence.sources
        names = short_names([path or "" for path in sources["path"].to_list()])
        return dict(zip(sources["source"].to_list(), names, strict=True))

    @cached_property
    def flow_count(self) -> int:
        """Conversations as terminal and verdict count them."""
        return counted(self.evidence)

    @cached_property
    def without_data(self) -> int:
        """Conversations of any transport that carried no data."""
        return max(0, conversations(drawn(self.evidence)) - self.sending["flow"].n_unique())

    @cached_property
    def accused(self) -> dict[int, dict[str, Any]]:
        """Rows of `flows` that findings name, by flow."""
        named = {finding.flow for finding in self.analysis.findings} - {None}
        rows = traffic(self.evidence).flows.filter(pl.col("flow").is_in(named))
        return {row["flow"]: row for row in reversed(rows.rows(named=True))}

    @cached_property
    def sending(self) -> pl.DataFrame:
        """Directions that carried data as the input nearest to their sender saw them.

        The ones to look at first come first, and last those that only a log knows: their
        sizes are null, and ``samples`` counts the rows that it holds of them. Columns: KEY,
        `payload_bytes`, ``samples``, ``far``, ``worst`` (severity of the direction's worst finding,
        -1 without one) and ``row``, the place of its counters: a page shows those of few.
        """
        known = self._known.with_row_index("row").select("row", *KEY, "payload_bytes", "samples")
        carried = known.filter(self._known["data_packets"] > 0)
        ranked = carried.join(nearest(drawn(self.evidence)), on=KEY, how="inner")
        if known["samples"].count():
            ranked = pl.concat([ranked, known.drop_nulls("samples")], how="diagonal")
        worst = pl.DataFrame(
            [(*key, int(severity)) for key, severity in self._worst().items()],
            schema={"flow": pl.UInt32, "forward": pl.Boolean, "worst": pl.Int8},
            orient="row",
        )
        return (
            ranked.join(worst, on=["flow", "forward"], how="left")
            .with_columns(pl.col("worst").fill_null(-1))
            .sort(
                pl.col("worst").clip(Severity.INFO),
                "payload_bytes",
                "samples",
                "flow",
                "forward",
                descending=[True, True, True, False, True],
                nulls_last=True,
            )
        )

    @cached_property
    def _known(self) -> pl.DataFrame:
        """`directions` with ``samples``, and those that only a log knows."""
        directions = drawn(self.evidence).directions
        if traffic(self.evidence).kernel.is_empty():
            return directions.with_columns(samples=pl.lit(None, pl.UInt32))
        return pl.concat([directions, self._logged()], how="diagonal")

    def _counted(self, ranked: pl.DataFrame) -> pl.DataFrame:
        """Counters of rows of ``sending``, with ``far`` and ``worst``."""
        return self._known[ranked["row"]].hstack([ranked["far"], ranked["worst"]])

    @cached_property
    def charted(self) -> tuple[Direction, ...]:
        """The directions that matter most, in the order of their flows."""
        rows = self.sending
        if not rows.height:
            return ()
        most = pl.col("payload_bytes").max()
        enough = most.is_null() | (pl.col("payload_bytes") >= CHARTED_SHARE * most)
        few = (pl.col("payload_bytes") <= FEW_BYTES).fill_null(value=False)
        accused = (pl.col("worst") >= Severity.WARNING) & ~few
        picked = rows.filter(accused | enough).head(MAX_CHARTED)
        return tuple(self._direction(row) for row in self._counted(picked).iter_rows(named=True))

    @cached_property
    def uncharted(self) -> int:
        """Directions that carried data and have no charts."""
        return self.sending.height - len(self.charted)

    @cached_property
    def listed(self) -> pl.DataFrame:
        """Counters of the directions that the table of flows holds."""
        return self._counted(self.sending.head(MAX_LISTED))

    @cached_property
    def anchors(self) -> frozenset[str]:
        """Ids of flow directions that the page has a place for."""
        return frozenset(
            direction_key(flow, forward)
            for flow, forward in zip(self.listed["flow"], self.listed["forward"], strict=True)
        )

    def direction(self, flow: int | None, forward: bool) -> Direction | None:
        """One direction of a flow, or of the flow that carried most; null when there is none."""
        rows = self.sending.filter(pl.col("forward") == forward)
        if flow is not None:
            rows = rows.filter(pl.col("flow") == flow)
        size = ("payload_bytes", "samples")
        largest = rows.sort(*size, "flow", descending=[True, True, False], nulls_last=True)
        found = self._counted(largest.head(1))
        return self._direction(found.row(0, named=True)) if found.height else None

    def anchor(self, flow: int, forward: bool | None) -> str:
        """Id of the place that shows a flow (either direction when null), or nothing."""
        both = (True, False) if forward is None else (forward,)
        keys = (direction_key(flow, one) for one in both)
        return next((key for key in keys if key in self.anchors), "")

    def _direction(self, row: dict[str, Any]) -> Direction:
        return Direction(
            drawn(self.evidence),
            self.axis,
            row["flow"],
            row["forward"],
            row["source"],
            row["far"],
            row,
            self.points,
        )

    def _logged(self) -> pl.DataFrame:
        """Directions of flows without packets, and when the log saw them."""
        known = traffic(self.evidence).kernel.filter(
            pl.col("flow").is_not_null() & pl.col("forward").is_not_null()
        )
        alone = known.join(drawn(self.evidence).directions, on="flow", how="anti")
        return alone.group_by("flow", "forward", maintain_order=True).agg(
            pl.col("source").first(),
            first_ns=pl.col("ts_ns").min(),
            last_ns=pl.col("ts_ns").max(),
            samples=pl.len(),
        )

    def _worst(self) -> dict[tuple[int, bool], Severity]:
        """Severity of the worst finding per flow direction."""
        worst: dict[tuple[int, bool], Severity] = {}
        for finding in self.analysis.findings:
            for key in _places(finding):
                worst[key] = max(worst.get(key, Severity.INFO), finding.severity)
        return worst


def _places(finding: Finding) -> list[tuple[int, bool]]:
    """Directions that a finding is about; both when it names only the flow."""
    if finding.flow is None:
        return []
    both = (True, False) if finding.forward is None else (finding.forward,)
    return [(finding.flow, forward) for forward in both]
