"""How flow directions that sent at the same time over the same path divided it."""

from __future__ import annotations

import polars as pl

from l4strace.derive import company
from l4strace.evidence import Capture
from l4strace.schema import TABLES
from l4strace.schema.keys import KEY

MAX_FLOWS_PER_PATH = 8
"""Largest flows of a path that are compared pair by pair: pairs grow with the square."""

MIN_OVERLAP_NS = 1_000_000_000
"""Shorter company shows slow start, not how the path was divided. By eye."""

SLOT_NS = 1_000_000_000
"""Slots to compare shares in: tens of round trips, and short enough to date a starvation."""

SMOOTH_SLOTS = 3
"""Slots averaged, so that one cut does not end a starvation. By eye."""

STARVED_SHARE = 0.2
"""A fifth of the pair's rate: a quarter of what the other one gets."""

MIN_STARVED_SLOTS = 3
"""As many as are averaged: fewer are one dip."""

HELD_BACK = 0.5
"""Share of rounds in which a flow had less to send, from which it did not starve: most."""


def table(capture: Capture) -> pl.DataFrame:
    """One row per ordered pair of overlapping directions, in the schema of `coexistence`."""
    schema = TABLES["coexistence"]
    rounds = _bulk_rounds(capture)
    if rounds.is_empty():
        return schema.empty()
    pairs = _pairs(rounds)
    slots = _shares(pairs, rounds)
    keys = [*KEY, "other_flow"]
    seconds = (pl.col("end_ns") - pl.col("start_ns")) / 1e9
    rates = slots.group_by(keys).agg(
        pl.col("bits").sum(), pl.col("other_bits").sum(), pl.col("held_back").mean()
    )
    result = (
        pairs.join(rates, on=keys, how="inner")
        .join(_starved(slots), on=keys, how="left")
        .with_columns(
            (pl.col("bits") / seconds).alias("rate_bps"),
            (pl.col("other_bits") / seconds).alias("other_rate_bps"),
            (pl.col("bits") / (pl.col("bits") + pl.col("other_bits"))).alias("share"),
            _jain(pl.col("bits"), pl.col("other_bits")).alias("jain"),
            pl.when(pl.col("held_back") < HELD_BACK)
            .then("starved_since_ns")
            .alias("starved_since_ns"),
        )
    )
    return schema.conform(result).sort(schema.key)


def _bulk_rounds(capture: Capture) -> pl.DataFrame:
    """Rounds of the directions worth comparing, with their `path`, `bits` and `held_back`."""
    paths = company.directions(capture).select(*KEY, "path", "max_payload")
    needed = capture.rounds.select(
        *KEY,
        *("round", "start_ns", "end_ns", "acked_packets", "acked_bytes"),
        *("limited_by", "sent_packets", "sent_bytes"),
    )
    rounds = needed.join(paths, on=KEY, how="inner")
    sizes = (
        rounds.group_by(*KEY, "path")
        .agg(pl.len().alias("rounds"), pl.col("acked_packets").sum(), pl.col("acked_bytes").sum())
        .filter(
            (pl.col("rounds") >= company.MIN_ROUNDS)
            & (pl.col("acked_packets") >= company.MIN_ACKED_PACKETS)
        )
    )
    rank = pl.col("acked_bytes").rank("ordinal", descending=True).over("source", "path")
    large = sizes.filter(rank <= MAX_FLOWS_PER_PATH).select(KEY)
    return rounds.join(large, on=KEY, how="semi").with_columns(
        (pl.col("acked_bytes") * 8).cast(pl.Float64).alias("bits"),
        _held_back().alias("held_back"),
    )


def _held_back() -> pl.Expr:
    """The sender had less to send than it might have; nothing but full packets means it had more.

    A flow that is starved to a window of two or three packets looks like one whose application
    pauses, but for the size of its packets.
    """
    limited = pl.col("limited_by").is_in(["app", "rwnd"]).fill_null(False)
    full = pl.col("sent_bytes") >= pl.col("sent_packets") * pl.col("max_payload")
    several = pl.col("sent_packets") >= 2
    return limited & ~((pl.col("limited_by") == "app") & full & several).fill_null(False)


def _pairs(rounds: pl.DataFrame) -> pl.DataFrame:
    """Ordered pairs of directions with the time both were sending."""
    spans = rounds.group_by(*KEY, "path").agg(pl.col("start_ns").min(), pl.col("end_ns").max())
    both = spans.join(spans, on=["source", "path"], suffix="_other").filter(
        pl.col("flow") != pl.col("flow_other")
    )
    return both.select(
        *KEY,
        pl.col("flow_other").alias("other_flow"),
        pl.col("forward_other").alias("other_forward"),
        pl.max_horizontal("start_ns", "start_ns_other").alias("start_ns"),
        pl.min_horizontal("end_ns", "end_ns_other").alias("end_ns"),
    ).filter(pl.col("end_ns") - pl.col("start_ns") >= MIN_OVERLAP_NS)


def _shares(pairs: pl.DataFrame, rounds: pl.DataFrame) -> pl.DataFrame:
    """Bits of both flows in each slot of their overlap."""
    slot = (pl.col("start_ns") // SLOT_NS).alias("slot")
    sums = rounds.group_by(*KEY, slot).agg(pl.col("bits").sum(), pl.col("held_back").mean())
    others = sums.rename({"flow": "other_flow", "forward": "other_forward", "bits": "other_bits"})
    pair = ["source", "other_flow", "other_forward", "slot"]
    slots = pairs.with_columns(
        pl.int_ranges(pl.col("start_ns") // SLOT_NS, pl.col("end_ns") // SLOT_NS + 1).alias("slot")
    ).explode("slot")
    return (
        slots.join(sums, on=[*KEY, "slot"], how="left")
        .join(others.drop("held_back"), on=pair, how="left")
        .with_columns(pl.col("bits", "other_bits").fill_null(0.0))
        .filter(pl.col("bits") + pl.col("other_bits") > 0)
    )


def _starved(slots: pl.DataFrame) -> pl.DataFrame:
    """Start of the starvation that lasts to the end of the overlap; no row without one."""
    keys = [*KEY, "other_flow"]
    own, other = (
        pl.col(bits).rolling_mean(SMOOTH_SLOTS, min_samples=1, center=True).over(keys)
        for bits in ("bits", "other_bits")
    )
    smooth = slots.sort(*keys, "slot").with_columns((own / (own + other)).alias("share"))
    # The first and last slot are only partly inside the overlap.
    fed = pl.col("slot").filter(pl.col("share") >= STARVED_SHARE).max()
    spans = smooth.group_by(keys).agg(
        fed.alias("fed"),
        pl.col("slot").min().alias("first"),
        pl.col("slot").max().alias("last"),
        pl.col("start_ns").first(),
    )
    since = pl.coalesce(pl.col("fed") + 1, pl.col("first"))
    return spans.filter(pl.col("last") - since + 1 >= MIN_STARVED_SLOTS).select(
        *keys, pl.max_horizontal(since * SLOT_NS, "start_ns").alias("starved_since_ns")
    )


def _jain(a: pl.Expr, b: pl.Expr) -> pl.Expr:
    return (a + b).pow(2) / (2 * (a.pow(2) + b.pow(2)))
