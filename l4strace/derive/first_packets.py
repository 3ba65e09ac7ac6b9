"""Whether flows that begin find the queue that another one waits in.

One queue delays the first packet of a flow as long as any other that arrives at that moment. With
a queue per flow it finds none of its own flow, and fair queueing serves it next (sch_fq_codel.c:
new flows go first). So connections that are far too short to be compared show by their handshake
whether a long flow has a queue of its own.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.derive import company
from l4strace.evidence import Capture
from l4strace.schema.keys import of_round

Features = dict[str, Any]

WHERE = ["at", "slot"]

MIN_FIRST, MOST, NEARLY_NONE = 3, 0.8, 0.1
"""Slots in which a flow began, the part of them that agrees, and the part that may contradict. By
eye."""

SCHEMA = {
    "of": pl.UInt32,
    "first_slots": pl.UInt32,
    "first_met": pl.UInt32,
    "first_passed": pl.UInt32,
    "first_apart_us": pl.Float64,
}


def begun_beside(capture: Capture, rounds: pl.DataFrame, long: pl.DataFrame) -> pl.DataFrame:
    """One row for each direction of ``long`` that waited while others began, by its number `of`.

    Columns: `first_slots`, in which every packet of the direction waited beyond the noise and a
    flow of its path began; `first_met`, those in which the first packet of that flow waited as long
    as the shortest wait of the direction, and `first_passed`, those in which it waited less by more
    than the noise. `first_apart_us`: by how much the waits of the direction vary more than those.

    Waits of the direction count from its own smallest RTT, those of the others from the smallest of
    the path: neither a longer nor a shorter path then passes for a queue. ``rounds`` have the
    columns of `queue_features.COMPARED` and those of noise.
    """
    firsts = _firsts(capture, rounds)
    many = firsts.filter(pl.len().over("at") > MIN_FIRST)["at"].unique()
    if many.is_empty():
        return pl.DataFrame(schema=SCHEMA)
    rounds = rounds.filter(pl.col("at").is_in(many.implode()))
    smallest = rounds.group_by("at").agg(pl.col("floor_us").min().alias("smallest_us"))
    firsts = firsts.join(smallest, on="at").with_columns(
        (pl.col("rtt_min_us") - pl.col("smallest_us")).alias("first_us")
    )
    own = rounds.filter(pl.col("of").is_in(long["of"].implode()))
    length = (pl.col("end_ns") - pl.col("start_ns")).median().over("of")
    width = own.group_by("at").agg((2 * length.max()).clip(lower_bound=company.BIN_NS).alias("ns"))
    beyond = pl.max_horizontal("margin_us", "noise_us")
    met = pl.col("first_us") >= pl.col("least_us") - pl.col("margin_us")
    passed = pl.col("first_us") + beyond < pl.col("least_us")
    return (
        _waits(own.join(width, on="at"))
        .join(_earliest(firsts.join(width, on="at")), on=WHERE)
        .filter((pl.col("least_us") > beyond) & (pl.col("begun") != pl.col("of")))
        .group_by("of")
        .agg(
            pl.len().alias("first_slots"),
            met.sum().alias("first_met"),
            passed.sum().alias("first_passed"),
            (_range("least_us") - _range("first_us")).alias("first_apart_us"),
        )
        .select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())
    )


def one_queue(f: Features) -> bool:
    """Flows that begin wait as long as this one does at that time."""
    slots = f["first_slots"] or 0
    return bool(
        slots >= MIN_FIRST
        and f["first_met"] >= MOST * slots
        and f["first_passed"] <= NEARLY_NONE * slots
    )


def own_queue(f: Features) -> bool:
    """Flows that begin wait for nothing, however long this one waits.

    Were the path of those flows shorter than the smallest RTT shows, they would pass at a distance
    that stays the same.
    """
    slots = f["first_slots"] or 0
    return bool(
        slots >= MIN_FIRST
        and f["first_met"] <= NEARLY_NONE * slots
        and f["first_passed"] >= MOST * slots
        and f["first_apart_us"] > 0
    )


def _firsts(capture: Capture, rounds: pl.DataFrame) -> pl.DataFrame:
    """First round of each direction whose handshake was seen."""
    began = capture.flows.filter(pl.col("handshake") != "none").select("source", "flow")
    return (
        rounds.select("source", "flow", "of", "at", "round", "end_ns", "rtt_min_us")
        .filter(pl.col("round") == 0)
        .join(began, on=["source", "flow"], how="semi")
        .drop_nulls("rtt_min_us")
    )


def _waits(own: pl.DataFrame) -> pl.DataFrame:
    """Shortest wait of each direction in the rounds of a slot and those beside them."""
    least = pl.min_horizontal(of_round(step, pl.col("rtt_min_us")) for step in (-1, 0, 1))
    margin = pl.max_horizontal(
        pl.lit(company.APART_US), company.APART_PACKETS * company.packet_us()
    )
    return (
        own.with_columns((least - pl.col("floor_us")).alias("least_us"), margin.alias("margin_us"))
        .group_by("of", "at", _slot())
        .agg(pl.col("least_us").min(), pl.col("margin_us", "noise_us").max())
    )


def _earliest(firsts: pl.DataFrame) -> pl.DataFrame:
    """Shortest first wait of each slot, and whose it was."""
    return (
        firsts.sort("first_us")
        .group_by("at", _slot(), maintain_order=True)
        .agg(pl.col("first_us").first(), pl.col("of").first().alias("begun"))
    )


def _slot() -> pl.Expr:
    return (pl.col("end_ns") / pl.col("ns")).floor().cast(pl.Int64).alias("slot")


def _range(column: str) -> pl.Expr:
    return pl.col(column).max() - pl.col(column).min()
