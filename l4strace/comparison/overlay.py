"""Two runs, or two sets of repetitions, over the same axes: the largest L4S flow of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import polars as pl

from l4strace import pipeline
from l4strace.comparison.curves import QUESTIONS, Drawn, Question
from l4strace.derive import neighbors, vantage
from l4strace.errors import L4straceError
from l4strace.evidence import Evidence
from l4strace.page.case import Case
from l4strace.page.chart import Chart
from l4strace.page.direction import Direction
from l4strace.page.drawing.figure import Trace
from l4strace.page.drawing.palette import FLOWS, Stroke
from l4strace.page.drawing.series import Points, band, line, points_of
from l4strace.pipeline import Asked
from l4strace.schema.keys import KEY
from l4strace.studies import places
from l4strace.studies.dataset import lying_at
from l4strace.studies.planned import Options
from l4strace.studies.sources import discover
from l4strace.wording.moments import NANO, TimeAxis
from l4strace.wording.names import direction_name
from l4strace.wording.quantities import count, quantity, share

MOST_RUNS = 20
"""Runs of a side that are drawn: each is read once more, which takes longer than the comparison."""
SLOTS = 400
"""Parts of the time in which runs of one side are put together: an area has no need for more."""
ONE_SIDE = "Each file of an overlay is one run."


@dataclass(frozen=True)
class Run:
    """One run: its flow, its length in seconds, its curves by question, and its phases in words."""

    flow: str
    length: float
    curves: dict[str, Drawn]
    phases: tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """The runs of one side, at least one; of several the repetitions of one cell."""

    name: str
    runs: tuple[Run, ...]

    @property
    def about(self) -> str:
        """What its curves are of."""
        return self.runs[0].flow if len(self.runs) == 1 else count(len(self.runs), "run")


def sides(first: str, second: str) -> tuple[Side, Side] | None:
    """Both sides, each a capture or a folder of repetitions; null where one cannot be drawn.

    Raises InputError for a capture that cannot be read, UsageError for one of several runs.
    """
    names = discover.labels([first, second]) if first != second else {first: first}
    made = [side(place, names[place]) for place in (first, second)]
    return (made[0], made[1]) if made[0] and made[1] else None


def side(place: str, name: str) -> Side | None:
    """One side; see `sides`."""
    if places.is_url(place) or lying_at(place) is not None:
        return None
    if not places.is_folder(place):
        run = _run([place])
        return Side(name, (run,)) if run else None
    runs = tuple(run for files in _repetitions(place) if (run := _readable(files)))
    return Side(name, runs) if runs else None


def _repetitions(folder: str) -> list[tuple[str, ...]]:
    """Files of each run; none where the runs differ in a parameter: an area would mix them."""
    planned = discover.discover([folder], discover.How(), Options()).planned
    if any(one.parameters != planned[0].parameters for one in planned):
        return []
    return [one.files for one in planned[:MOST_RUNS] if not one.error]


def _readable(files: Sequence[str]) -> Run | None:
    """A run; null for one that cannot be read, which the comparison lists as failed."""
    try:
        return _run(files)
    except L4straceError:
        return None


def _run(files: Sequence[str]) -> Run | None:
    """Reads one run; null without a flow that carries data."""
    (run,) = pipeline.diagnose(files, Asked(judge=False, digests=False, one_run=ONE_SIDE))
    key = _largest(run.evidence)
    case = Case(run.evidence, run.analysis)
    direction = case.direction(*key) if key else None
    if direction is None:
        return None
    drawn = {question.name: question.of(direction) for question in QUESTIONS}
    return Run(
        direction_name(direction.row),
        case.axis.length,
        {name: curve for name, curve in drawn.items() if curve},
        _phases(run.evidence, direction),
    )


def _largest(evidence: Evidence) -> tuple[int, bool] | None:
    """The L4S flow direction that delivered most, else the largest one of all."""
    near = vantage.once(evidence, neighbors.directions(evidence)).filter(pl.col("acked_bytes") > 0)
    l4s = (pl.col("marked_as") == "ect1").alias("l4s")
    ranked = near.select(*KEY, l4s, "acked_bytes").sort("l4s", "acked_bytes", descending=True)
    return None if ranked.is_empty() else ranked.select("flow", "forward").row(0)


def charts(both: tuple[Side, Side]) -> list[Chart]:
    """One chart per question that either side answers."""
    length = max(run.length for one in both for run in one.runs)
    axis = TimeAxis(0, int(length * NANO))
    return [made for question in QUESTIONS if (made := _chart(question, both, axis))]


def _chart(question: Question, both: tuple[Side, Side], axis: TimeAxis) -> Chart | None:
    traces: list[Trace] = []
    curves: list[Points] = []
    words = [question.how] if question.how else []
    for one, stroke in zip(both, FLOWS, strict=False):
        drawn = [run.curves[question.name] for run in one.runs if question.name in run.curves]
        curves += (each.curve for each in drawn)
        if len(one.runs) == 1:
            traces += (line(each.curve, one.name, stroke) for each in drawn)
            words += (f"{one.name}: {each.about}." for each in drawn)
        elif drawn:
            traces += _area([each.curve for each in drawn], one.name, stroke, axis)
            words.append(f"{one.name}: median and range of {count(len(drawn), 'run')}.")
    if not traces:
        return None
    figure = question.framed(traces, axis, curves)
    return Chart(question.name, question.title, " ".join(words), figure.height, figure.spec)


def _area(curves: Sequence[Points], name: str, stroke: Stroke, axis: TimeAxis) -> list[Trace]:
    """The median of some runs, and the range from their smallest to their largest."""
    width = axis.length / SLOTS
    slot = (pl.col("x") / width).floor()
    means = [
        pl.DataFrame({"x": curve.x, "y": curve.y}).group_by(slot).agg(pl.col("y").mean())
        for curve in curves
    ]
    y = pl.col("y")
    rows = (
        pl.concat(means)
        .group_by("x")
        .agg(y.median(), low=y.min(), high=y.max())
        .sort("x")
        .with_columns((pl.col("x") + 0.5) * width)
    )
    return [
        *band(rows, "low", "high", f"{name}, range", stroke, SLOTS, 1.0),
        line(points_of(rows, "y", SLOTS), name, stroke),
    ]


def phases(both: tuple[Side, Side]) -> list[dict[str, str]]:
    """Phases of two single runs, those of equal number beside each other."""
    texts = [one.runs[0].phases if len(one.runs) == 1 else () for one in both]
    return [{"first": a, "second": b} for a, b in zip_longest(*texts, fillvalue="")]


def _phases(evidence: Evidence, direction: Direction) -> tuple[str, ...]:
    rows = evidence.phases.filter(pl.col("source") == direction.source)
    seconds = direction.axis.seconds
    return tuple(
        _phase(row, seconds(row["start_ns"]), seconds(row["end_ns"]))
        for row in rows.iter_rows(named=True)
    )


def _phase(row: dict[str, Any], start: float, end: float) -> str:
    parts = [f"t={start:.1f} s to {end:.1f} s"]
    if row["changed"]:
        parts.append(f"{row['changed']} changed")
    if row["capacity_bps"] is not None:
        bound = "" if row["capacity_shown"] else "at least "
        parts.append(f"capacity {bound}{quantity(row['capacity_bps'], 'bit/s')}")
    if row["base_rtt_us"] is not None:
        parts.append(f"base RTT {quantity(row['base_rtt_us'], 'us')}")
    if row["ce_share"] is not None:
        parts.append(f"CE {share(row['ce_share'])} of all packets")
    return ", ".join(parts)
