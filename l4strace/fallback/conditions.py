"""What happened on a path when a score was above 8: a change of the path, or an overshoot."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from l4strace.derive import neighbors
from l4strace.derive.neighbors import FRAME_BYTES
from l4strace.derive.vantage import once
from l4strace.evidence import Evidence
from l4strace.fallback.direction import Direction
from l4strace.fallback.recorded import MIN_SHARE, MIN_STEPS
from l4strace.prague.constants import SCALABLE_THRESHOLD
from l4strace.schema.keys import DIRECTION, KEY

NEARLY_ALL = 0.9
"""Part of the steps above 8 that a time has to hold to explain them: by eye."""

FALL_NS = 3_000_000_000
"""Time in which a score falls below 8 after its reason is gone: by eye, from simulated runs; the
detector's RTT filters forget in tens of round trips, and the score falls by one or two a step."""


class Conditions(NamedTuple):
    """What the path did while a score was above 8; null or 0 where nothing of it stands out."""

    changed_ns: int | None = None
    """The path changed then; before, the score was not above 8."""
    marks: bool = True
    """The path marks after that change."""
    packet_us: float = 0.0
    """Time of a packet after it, where the path was full."""
    overshot: bool = False
    """A slow start filled the queue, and soon after it the score was below 8 again."""


UNCHANGED = Conditions()


class _Part(NamedTuple):
    """One phase of the path, and the steps in it."""

    start_ns: int
    marks: int
    packet_us: float
    steps: int
    above: int

    @property
    def high(self) -> bool:
        return self.above > 0 and self.above >= MIN_SHARE * self.steps


def conditions(evidence: Evidence) -> dict[Direction, Conditions]:
    """What each path did while a score was above 8: as recorded, else for certain by packets."""
    steps = _steps(evidence)
    if steps.is_empty():
        return {}
    paths = {
        (flow, forward): (source, path)
        for source, flow, forward, path in once(
            evidence, neighbors.directions(evidence).select(*KEY, "path")
        ).iter_rows()
    }
    found = {}
    for (flow, forward), own in steps.partition_by(DIRECTION, as_dict=True).items():
        if (flow, forward) not in paths:
            continue
        source, path = paths[flow, forward]
        on_path = (pl.col("source") == source) & (pl.col("path") == path)
        phases, spikes = evidence.phases.filter(on_path), evidence.spikes.filter(on_path)
        overshot = _overshot(own, _times(spikes, flow))
        found[flow, forward] = _of_parts(_parts(own, phases), overshot)
    return found


def _steps(evidence: Evidence) -> pl.DataFrame:
    """Time of each step and whether it is `above`, of the directions in which that counts."""
    recorded, score = pl.col("origin") == "kernel", pl.col("score") > SCALABLE_THRESHOLD
    surely = (pl.col(f"score_{of}") > SCALABLE_THRESHOLD for of in ("fixed_lo", "fixed"))
    above = pl.when(recorded).then(score).otherwise(pl.coalesce(*surely))
    steps = evidence.detector.select(*KEY, "origin", "ts_ns", above=above)
    # Most directions have none above: the others are few rows.
    high = steps.filter("above").select(DIRECTION).unique()
    known = steps.join(high, on=DIRECTION, how="semi")
    logged, replayed = known.filter(recorded), once(evidence, known.filter(~recorded))
    replayed = replayed.join(logged, on=DIRECTION, how="anti")
    steps = pl.concat([logged, replayed]).select(*DIRECTION, "ts_ns", "above").drop_nulls("above")
    return steps.filter(pl.col("above").mean().over(DIRECTION) >= MIN_SHARE).sort("ts_ns")


def _parts(steps: pl.DataFrame, phases: pl.DataFrame) -> list[_Part]:
    """Phases in which the detector ran, in order; short ones count to those that follow."""
    full = pl.col("capacity_shown") & (pl.col("capacity_bps") > 0)
    packet = pl.when(full).then(FRAME_BYTES * 8e6 / pl.col("capacity_bps")).fill_null(0.0)
    known = phases.sort("phase").select("start_ns", "end_ns", "marks", packet=packet)
    parts: list[_Part] = []
    for start, end, marks, packet_us in known.iter_rows():
        inside = steps.filter(pl.col("ts_ns").is_between(start, end, closed="left"))["above"]
        part = _Part(start, marks, packet_us, inside.len(), int(inside.sum()))
        short = parts and parts[-1].steps < MIN_STEPS
        parts += [_joined(parts.pop(), part) if short else part]
    return parts


def _joined(one: _Part, other: _Part) -> _Part:
    return _Part(
        one.start_ns,
        one.marks + other.marks,
        other.packet_us,
        one.steps + other.steps,
        one.above + other.above,
    )


def _of_parts(parts: Sequence[_Part], overshot: bool) -> Conditions:
    """A change explains the score where it was low in all phases before, and is high after."""
    first = next((at for at, part in enumerate(parts) if part.high), 0)
    if not first:
        return Conditions(overshot=overshot)
    high = [part for part in parts[first:] if part.high]
    longest = max(high, key=lambda part: part.above)
    return Conditions(
        parts[first].start_ns, any(part.marks for part in high), longest.packet_us, overshot
    )


def _times(spikes: pl.DataFrame, flow: int) -> list[tuple[int, int]]:
    """Time of each slow start that a flow met, and that in which a score falls after it."""
    own = spikes.filter(pl.col("cause") == "slow-start")
    rows = own.select("start_ns", "end_ns", "hit", "culprit").iter_rows()
    return [
        (start, end + FALL_NS)
        for start, end, hit, culprit in rows
        if flow == culprit or str(flow) in (hit or "").split(", ")
    ]


def _overshot(steps: pl.DataFrame, times: Sequence[tuple[int, int]]) -> bool:
    """Nearly all steps above 8 fall into these times, and enough others do not."""
    if not times:
        return False
    met = pl.any_horizontal(pl.col("ts_ns").is_between(start, end) for start, end in times)
    inside = steps.filter(met)["above"]
    others, then = steps.height - inside.len(), int(inside.sum())
    left = int(steps["above"].sum()) - then
    enough = others >= MIN_STEPS and left < MIN_SHARE * others
    return enough and then >= NEARLY_ALL * (then + left)
