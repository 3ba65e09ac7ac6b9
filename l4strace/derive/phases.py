"""Phases of each path: stretches in which capacity, marking and base RTT stay the same.

Averages over a run that crosses a change describe neither part. So rules judge per phase.
"""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.derive import neighbors, noise, numbers, vantage
from l4strace.derive.measured import measured
from l4strace.evidence import Capture, kept
from l4strace.schema import TABLES
from l4strace.schema.keys import KEY, PATH

CHANGED = 1.25
"""Ratio of two capacities that is a change: `ALIKE` in `measure/phases.rs`."""

SLICE_NS = _native.SLICE_NS
"""Time over which `during` takes a rate: `measure/during.rs`."""

FULL_SHARE = _native.FULL_SHARE
"""Part of the capacity at which a ramp ends: `measure/usage.rs`."""


@kept
def table(capture: Capture) -> pl.DataFrame:
    """The phases of all paths, in the schema of `phases`."""
    rows = pl.LazyFrame(found(capture).table())
    named = numbers.named(capture).lazy().select("at", *PATH)
    return TABLES["phases"].conform(named.join(rows, on="at", maintain_order="right").collect())


@kept
def found(capture: Capture) -> _native.Phases:
    """As the native core found them."""
    return measured(capture).phases(_noise(capture))


def _noise(capture: Capture) -> pl.DataFrame:
    """`noise_us` of each path: what all of its flows show."""
    added = (noise.HIDES * pl.col("common_us")).min().alias("noise_us")
    of_paths = noise.table(capture).lazy().group_by(PATH).agg(added)
    named = numbers.named(capture).lazy().join(of_paths, on=PATH).select("at", "noise_us")
    return named.collect().rechunk()


@kept
def beside(capture: Capture) -> pl.DataFrame:
    """What flows over UDP took of each phase, and what that leaves unsure; no rows without UDP.

    Columns: PATH, `phase`, `beside_bps` (part of `capacity_bps`) and `sure`: the capacity changed
    at the start of the phase, however much of UDP was lost on the way or took another link.
    """
    schema = TABLES["phases"].schema
    if capture.udp_flows.is_empty():
        columns = {name: schema[name] for name in (*PATH, "phase")}
        return pl.DataFrame(schema={**columns, "beside_bps": pl.Float64(), "sure": pl.Boolean()})
    named = numbers.named(capture).lazy().select("at", *PATH)
    rows = pl.LazyFrame(found(capture).table())
    most, least = pl.col("capacity_bps"), pl.col("capacity_bps") - pl.col("beside_bps")
    before_most, before_least = (of.shift().over("at") for of in (most, least))
    fell, rose = before_least >= CHANGED * most, least >= CHANGED * before_most
    alone = (pl.col("beside_bps") + pl.col("beside_bps").shift().over("at")) == 0
    return (
        named.join(rows, on="at", maintain_order="right")
        .select(*PATH, "phase", "beside_bps", sure=(alone | fell | rose).fill_null(True))
        .collect()
    )


def capacities(capture: Capture) -> pl.DataFrame:
    """`capacity_bps` of each path in its longest phase."""
    length = pl.col("end_ns") - pl.col("start_ns")
    longest = pl.col("capacity_bps").sort_by(length).last()
    return table(capture).lazy().group_by(PATH).agg(longest).collect()


@kept
def sized(capture: Capture) -> pl.DataFrame:
    """One row a direction: the number of its path, the capacity there, and `noise_us`."""
    return (
        neighbors.directions(capture)
        .lazy()
        .select(*KEY, "path", numbers.paths(capture))
        .join(capacities(capture).lazy(), on=PATH, how="left", maintain_order="left")
        .join(noise.table(capture).lazy(), on=KEY, how="left", maintain_order="left")
        .select(
            "at", "capacity_bps", noise_us=pl.coalesce("hides_owd_us", "hides_us").fill_null(0.0)
        )
        .collect()
    )


def assigned(capture: Capture, rows: pl.DataFrame) -> pl.DataFrame:
    """``rows``, which have `PATH` and `start_ns`, with their `phase`; null without one."""
    known = rows.join(numbers.named(capture), on=PATH, how="left", maintain_order="left")
    made = found(capture).of(known.select("at", "start_ns").rechunk())
    return rows.hstack(pl.DataFrame(made))


def during(capture: Capture, asked: pl.DataFrame, begin_ns: int, end_ns: int) -> pl.DataFrame:
    """What the ``asked`` directions did between two moments, as seen nearest to their senders.

    No row where there are no rounds.

    Columns: KEY, `carried_bytes`, when slow start had ended (`exit_ns`) with how many packets in
    flight (`exit_packets`), and `spread` of the rate: from the 10th to the 90th percentile, by its
    median.
    """
    keys = vantage.of_rounds(capture, asked).select(KEY).rows()
    return pl.DataFrame(measured(capture).during(keys, begin_ns, end_ns))
