"""How rules word a latency spike."""

from itertools import pairwise

import polars as pl

from l4strace.derive.spikes import JOIN_NS, LOOK_BACK_NS
from l4strace.evidence import Evidence, Row
from l4strace.rules.support import paths, subjects
from l4strace.wording.quantities import listed

LONG_NS = 1_000_000_000
"""Length from which a spike is a warning: by eye; a second interrupts a call, shorter spikes are
usual when flows start."""


def episodes(spikes: pl.DataFrame) -> pl.DataFrame:
    """The highest spike of each episode and cause, with what the episode has of that cause.

    Spikes of a path are one episode as long as delay is high for longer than it is not: a gap is
    shorter than the two spikes around it together. One of unknown cause has the first that is known
    in its episode: the queue that another spike made is still there.
    """
    if spikes.is_empty():
        return spikes.with_columns(spikes=0)
    length = pl.col("end_ns") - pl.col("start_ns")
    gap = pl.col("start_ns") - pl.col("end_ns").shift()
    apart = (gap >= length + length.shift()).fill_null(True)
    why = pl.struct("cause", "culprit", "peak_packets")
    known = why.filter(pl.col("cause") != "unknown").first().over("path", "episode")
    unknown = (pl.col("cause") == "unknown") & known.struct.field("cause").is_not_null()
    told = (
        spikes.sort("path", "start_ns")
        .with_columns(apart.cum_sum().over("path").alias("episode"), length.alias("above_ns"))
        .with_columns(pl.when(unknown).then(known).otherwise(why).struct.unnest())
    )
    of = ["path", "episode", "cause", "culprit"]
    return (
        told.with_columns(
            pl.len().over(of).alias("spikes"),
            pl.col("start_ns").min().over(of),
            pl.col("end_ns").max().over(of),
            pl.col("above_ns").sum().over(of),
        )
        .sort("height_us", "above_ns", descending=True)
        .unique(of, keep="first", maintain_order=True)
    )


def height(evidence: Evidence, row: Row, named: int | None) -> str:
    """`queue delay reached 72 ms`; less sure where lost packets have no RTT.

    Where the snaplen cut off SACK, no packet behind a lost one has an RTT either until the hole is
    filled: the delay is at least that of the packets before. With its flow, where the finding names
    another: the two may wait in queues of their own.
    """
    bound = ""
    if row["lost"] and not row["one_way"]:
        bound = "at least " if _without_sack(evidence, row) else "about "
    whose = "" if row["flow"] == named else f" of flow {row['flow']}"
    us = row["height_us"]
    size = f"{us / 1e6:.2f} s" if us >= 1e6 else f"{us / 1000:.0f} ms"
    return f"queue delay{whose} reached {bound}{size}"


def fills(packets: float) -> str:
    """`1 fills`, `42 fill`: what the path holds without a queue."""
    least = max(packets, 1.0)
    return f"{least:,.0f} fill{'s' if round(least) == 1 else ''}"


def fall(evidence: Evidence, row: Row) -> str:
    """`the capacity of the path fell from 47.8 Mbit/s to 4.83 Mbit/s at t=19.8 s`, or nothing.

    The fall nearest to the start of the spike, of those that derive.spikes takes for its cause; one
    that shows clearly after it is not named as such.
    """
    falls = [
        (before, after)
        for known in paths.phases(evidence)
        for before, after in pairwise(known)
        if (after["source"], after["path"]) == (row["source"], row["path"])
        and after["changed"] == "capacity"
        and after["sure"]
        and after["capacity_bps"] < before["capacity_bps"]
        and -LOOK_BACK_NS <= after["start_ns"] - row["start_ns"] <= JOIN_NS
    ]
    if not falls:
        return ""
    before, after = min(falls, key=lambda pair: abs(pair[1]["start_ns"] - row["start_ns"]))
    return (
        f"the capacity of the path fell from {paths.capacity(before)} to {paths.fallen(after)} "
        f"at {subjects.moment(evidence, after['start_ns'])}"
    )


def _without_sack(evidence: Evidence, row: Row) -> bool:
    """Whether the ACKs, which are the flow's other direction, have options that were cut off."""
    back = {"source": row["source"], "flow": row["flow"], "forward": not row["forward"]}
    acks = evidence.directions.filter(**back)
    return bool((acks["options_cut"].fill_null(0) > 0).any())


def others(row: Row, named: int | None) -> str:
    """` Flows 0 and 1 waited.`, or nothing where only the flow that the finding names did."""
    if (row["flows"] or 1) > 1:
        return f" Flows {listed(row['hit'].split(', '))} waited."
    return "" if row["flow"] == named else f" Flow {row['flow']} waited."
