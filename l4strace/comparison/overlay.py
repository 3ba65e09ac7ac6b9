"""Two single runs over the same axes: their largest L4S flow round by round, and their phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from l4strace import pipeline
from l4strace.derive import neighbors, queue_delay, vantage
from l4strace.evidence import Evidence
from l4strace.page.drawing.thin import thin
from l4strace.pipeline import Asked
from l4strace.schema.keys import KEY
from l4strace.wording.names import flow_name
from l4strace.wording.quantities import quantity, share

WIDTH, HEIGHT, LEFT, TOP = 1000, 190, 86, 14
"""A chart in the units of its own drawing."""
MOST_POINTS = 800
CHARTS = (
    ("goodput_bps", "Goodput", "bit/s"),
    ("rtt_mean_us", "RTT", "us"),
    ("queue_delay_us", "Queue delay", "us"),
    ("inflight_max_packets", "Packets in flight", ""),
)
TICKS = 4
ONE_SIDE = "Each side of an overlay is one run."


@dataclass(frozen=True)
class Side:
    """One run: the name of its flow, the flow's rounds with seconds `x`, and its phases."""

    flow: str
    rounds: pl.DataFrame
    phases: pl.DataFrame


def side(files: Sequence[str]) -> Side | None:
    """Reads one run; null without a flow that carries data.

    Raises InputError for what cannot be read, UsageError for files of several runs.
    """
    (run,) = pipeline.diagnose(files, Asked(judge=False, digests=False, one_run=ONE_SIDE))
    evidence = run.evidence
    key = _largest(evidence)
    if key is None:
        return None
    source, flow, forward = key
    rounds = vantage.once(evidence, queue_delay.rounds(evidence)).filter(
        source=source, flow=flow, forward=forward
    )
    flows = evidence.flows.filter(source=source, flow=flow)
    start = evidence.rounds["start_ns"].min()
    seconds = ((pl.col("start_ns") - start) / 1e9).alias("x")
    phases = evidence.phases.filter(pl.col("source") == source).with_columns(
        seconds, ((pl.col("end_ns") - start) / 1e9).alias("end")
    )
    return Side(flow_name(flows.row(0, named=True)), rounds.with_columns(seconds), phases)


def _largest(evidence: Evidence) -> tuple[int, int, bool] | None:
    """The L4S flow direction that delivered most, else the largest one of all."""
    near = vantage.once(evidence, neighbors.directions(evidence)).filter(pl.col("acked_bytes") > 0)
    l4s = (pl.col("marked_as") == "ect1").alias("l4s")
    ranked = near.select(*KEY, l4s, "acked_bytes").sort("l4s", "acked_bytes", descending=True)
    return None if ranked.is_empty() else ranked.select(KEY).row(0)


def charts(first: Side, second: Side) -> list[dict[str, Any]]:
    """One chart per quantity that either run shows: paths on shared axes, ticks in words."""
    sides = (first, second)
    length = max((float(one.rounds["x"].max() or 0) for one in sides), default=0) or 1.0  # type: ignore[arg-type]
    found = []
    for column, title, unit in CHARTS:
        points = [_points(one.rounds, column) for one in sides]
        most = max((y for series in points for _, y in series), default=0)
        if most > 0:
            found.append(
                {
                    "title": title,
                    "paths": [_path(series, length, most) for series in points],
                    "y": [_tick(most * n / TICKS, unit, n) for n in range(TICKS + 1)],
                    "x": [
                        (round(LEFT + n * (WIDTH - LEFT) / TICKS, 1), f"{length * n / TICKS:.3g} s")
                        for n in range(TICKS + 1)
                    ],
                }
            )
    return found


def _points(rounds: pl.DataFrame, column: str) -> list[tuple[float, float]]:
    """Seconds and value, without nulls, with every peak."""
    rows = rounds.select("x", pl.col(column).cast(pl.Float64)).drop_nulls().rows()
    kept = thin([y for _, y in rows], MOST_POINTS)
    return [rows[index] for index in kept]


def _path(points: Sequence[tuple[float, float]], length: float, most: float) -> str:
    """The path of a line, as SVG has it."""
    places = (
        f"{LEFT + x / length * (WIDTH - LEFT):.1f} {TOP + (1 - y / most) * (HEIGHT - TOP):.1f}"
        for x, y in points
    )
    return "M" + "L".join(places) if points else ""


def _tick(value: float, unit: str, number: int) -> tuple[float, str]:
    return round(HEIGHT - number * (HEIGHT - TOP) / TICKS, 1), quantity(float(value), unit)


def phases(first: Side, second: Side) -> list[dict[str, str]]:
    """Phases of both runs, those of equal number beside each other."""
    texts = [[_phase(row) for row in one.phases.iter_rows(named=True)] for one in (first, second)]
    rows = max(len(texts[0]), len(texts[1]))
    padded = [column + [""] * (rows - len(column)) for column in texts]
    return [{"first": a, "second": b} for a, b in zip(*padded, strict=True)]


def _phase(row: dict[str, Any]) -> str:
    parts = [f"t={row['x']:.1f} s to {row['end']:.1f} s"]
    if row["changed"]:
        parts.append(f"{row['changed']} changed")
    if row["capacity_bps"] is not None:
        bound = "" if row["capacity_shown"] else "at least "
        parts.append(f"capacity {bound}{quantity(row['capacity_bps'], 'bit/s')}")
    if row["base_rtt_us"] is not None:
        parts.append(f"base RTT {quantity(row['base_rtt_us'], 'us')}")
    if row["ce_share"] is not None:
        parts.append(f"CE {share(row['ce_share'])}")
    return ", ".join(parts)
