"""Whether the kernel's reductions use its score: what the log shows of each host."""

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from l4strace.derive.senders.laws import MIN_LAW_ROUNDS
from l4strace.evidence import Evidence
from l4strace.fallback.direction import Direction
from l4strace.fallback.recorded import MAJORITY, Recorded
from l4strace.prague.constants import CLASSIC_THRESHOLD, CUT_FLOOR, MIN_CWND
from l4strace.schema.keys import DIRECTION

HALF = 0.5
"""Packets that counting whole ones hides."""

NEARLY_ALL = 0.9
"""Share of the reductions in which alpha/2 is at least the floor, from which the score made none
deeper: by eye."""


class Use(NamedTuple):
    """CE reductions that one log shows at a score of 9 or more, and the marks of one direction."""

    made: int = 0
    at_alpha: float = 0.0
    """Share of them in which alpha/2 is at least the floor, so that the score changes nothing."""
    cuts: int = 0
    """Reductions that show a use of the score: the floor asks for a packet more than alpha/2."""
    at_half_alpha: float = 0.0
    """Share of `cuts` that stay at alpha/2 or below, although the fallback would have gone deeper.

    With prague_ecn_fallback=2 it only observes. That is a parameter of the module, so all flows of
    a host show it together."""
    marks_since: int | None = None
    """CE that the kernel counted from the first step above 8 on; null where it counts none.

    Without a mark there is no reduction, and nothing that the fallback could deepen."""

    @property
    def only_observes(self) -> bool:
        """Most reductions ignore the score."""
        return self.cuts >= MIN_LAW_ROUNDS and self.at_half_alpha > MAJORITY

    @property
    def acts(self) -> bool:
        """Most reductions that show a use of the score are deeper than alpha/2."""
        return self.cuts >= MIN_LAW_ROUNDS and self.at_half_alpha <= MAJORITY

    @property
    def unmarked(self) -> bool:
        """No mark came since the score rose."""
        return self.marks_since == 0

    @property
    def outweighed(self) -> bool:
        """Alpha/2 alone cut the window as deep as the fallback does."""
        return self.made >= MIN_LAW_ROUNDS and self.at_alpha >= NEARLY_ALL


def used(evidence: Evidence, recorded: Mapping[Direction, Recorded]) -> dict[Direction, Use]:
    """The use of each recorded score."""
    if not recorded:
        return {}
    logs = {log: Use(*values) for log, *values in _of_logs(evidence).iter_rows()}
    marks = _marks_since(evidence, recorded)
    return {
        direction: logs.get(score.log, Use())._replace(marks_since=marks.get(direction))
        for direction, score in recorded.items()
    }


def _of_logs(evidence: Evidence) -> pl.DataFrame:
    """`log` and the first four fields of Use."""
    made = evidence.cuts.filter(
        (pl.col("origin") == "kernel")
        & (pl.col("cause") == "ce")
        & (pl.col("classic_ecn") >= CLASSIC_THRESHOLD)
    )
    half = pl.col("alpha") / 2
    floor = pl.max_horizontal(pl.col("cwnd_before") * (1 - CUT_FLOOR), pl.lit(MIN_CWND))
    shows = (pl.col("cwnd_before") * (1 - half) - floor >= HALF).fill_null(True)
    # The law "none" alone is not that: no law fits some reductions of the fallback.
    stays = ((pl.col("law") == "alpha/2") | (pl.col("fraction") <= half)).fill_null(False)
    return made.group_by(log="source").agg(
        made=pl.len(),
        at_alpha=(half >= CUT_FLOOR).fill_null(False).mean(),
        cuts=shows.sum(),
        at_half_alpha=stays.filter(shows).mean().fill_null(0.0),
    )


def _marks_since(
    evidence: Evidence, recorded: Mapping[Direction, Recorded]
) -> dict[Direction, int]:
    """CE counted since the score rose, of the directions whose log counts it."""
    rows = [(*direction, score.since_ns) for direction, score in recorded.items()]
    schema = {name: evidence.kernel.schema[name] for name in (*DIRECTION, "ts_ns")}
    since = pl.DataFrame(rows, schema=schema, orient="row").rename({"ts_ns": "since_ns"})
    counted = evidence.kernel.select(*DIRECTION, "ts_ns", "delivered_ce").drop_nulls("delivered_ce")
    later = counted.join(since, on=DIRECTION).filter(pl.col("ts_ns") >= pl.col("since_ns"))
    count = pl.col("delivered_ce").cast(pl.Int64)
    marks = later.group_by(DIRECTION).agg(marks=count.max() - count.min())
    return {(flow, forward): number for flow, forward, number in marks.iter_rows()}
