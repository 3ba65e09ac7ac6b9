"""Where the datagrams of a log lie among those of a capture: the offset between the two clocks.

Neither numbers nor bytes are common to both, but times and sizes are. Two datagrams may be the
same when they are equally long and follow their predecessors after equal pauses; the offset for
which most such pairs speak is taken when the datagrams around it confirm it, and no other offset
comes near. Regular traffic has many offsets that fit equally well: then none is taken.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

MIN_MATCHED = 20
"""Datagrams in common that make an offset, as many as acknowledgements of TCP."""
PAUSES = (300, 1200)
"""Longest pauses of the log and of the capture that are compared."""
MOST_OF_A_SIZE = 40
"""Datagrams of one size up to which all are compared."""
SEARCHES = ((30_000, 60_000), (200_000, 1_000_000))
"""Difference allowed between a pause in the log and in the capture, and width in which votes for
an offset are counted: first as on the host that wrote the log, where a datagram passes within some
10 us of its line, then as behind a queue. By eye, from the recorded runs."""
PAUSE_OFF = 0.02
"""Difference allowed as a share of long pauses in the second search."""
FAR_BINS = 3
"""Offsets farther apart are other offsets, and no jitter of the same."""
NEAR_NS = 2_000_000
"""How far a datagram may lie from its place: a short queue between log and capture."""
FIRST = 3
"""Datagrams of each direction that a handshake has at least, and whose sizes are its own. By
eye."""
PARTS = 10
"""Pieces of the common time in which log and capture must carry as much."""
PART_OFF, WHOLE_OFF = 0.25, 0.1
"""How far they may be apart in a piece, and in all: packets are lost, or not recorded. Programs
that begin alike, as UDP Prague does, are no longer alike after their first marks. By eye."""
ODD_PARTS = 2
"""Pieces that may be farther apart."""
CLEAR_VOTES = 2.0
"""Votes of the best offset over those of any other. By eye: the recorded runs have 5 to 60."""


class Offset(NamedTuple):
    """What is to be added to the log's times, how many datagrams confirm it, and how closely."""

    offset_ns: int
    matched: int
    residual_ns: int


def found(logged: pl.DataFrame, captured: pl.DataFrame) -> Offset | None:
    """The offset between datagrams of one direction: `ts_ns` and `bytes` of both, by time.

    ``logged`` may lack sizes. Null when nothing or several offsets fit.
    """
    sized = logged["bytes"].null_count() < logged.height
    for by_size in (True, False) if sized else (False,):
        for off_ns, bin_ns in SEARCHES:
            pairs = _pairs(logged, captured, by_size, off_ns)
            voted = _voted(pairs, bin_ns)
            if voted is not None and _as_much(logged, captured, voted):
                return _refined(logged, captured, voted, by_size)
    return None


def _as_much(logged: pl.DataFrame, captured: pl.DataFrame, offset_ns: int) -> bool:
    """Whether both carry as much at any time that they have in common: bytes, else datagrams."""
    bytes_known = logged["bytes"].null_count() == 0
    ours, theirs = (
        side.select(
            at=pl.col("ts_ns") + shift,
            weight=pl.col("bytes").cast(pl.Int64) if bytes_known else pl.lit(1, pl.Int64),
        )
        for side, shift in ((logged, offset_ns), (captured, 0))
    )
    begin = max(side["at"][0] for side in (ours, theirs))
    end = min(side["at"][-1] for side in (ours, theirs))
    if end <= begin:
        return False
    part = ((pl.col("at") - begin) * PARTS // (end - begin + 1)).alias("part")
    sums = [
        side.filter(pl.col("at").is_between(begin, end)).group_by(part).agg(pl.col("weight").sum())
        for side in (ours, theirs)
    ]
    both = sums[0].join(sums[1], on="part", how="full", suffix="_seen").fill_null(0)
    off = (pl.col("weight") / pl.col("weight_seen") - 1).abs()
    odd = both.filter(off > PART_OFF).height
    whole, seen = both.select(pl.col("weight", "weight_seen").sum()).row(0)
    return odd <= ODD_PARTS and abs(whole - seen) <= WHOLE_OFF * seen


def of_beginnings(logged: pl.DataFrame, captured: pl.DataFrame) -> Offset | None:
    """The offset between the first datagrams, if those are equally long.

    For datagrams of one conversation that both hold from its start. Behind a queue of many
    milliseconds nothing else shows the offset.
    """
    ours, theirs = logged.head(FIRST), captured.head(FIRST)
    sizes = ours["bytes"].to_list()
    if len(sizes) < FIRST or None in sizes or sizes != theirs["bytes"].to_list():
        return None
    apart = theirs["ts_ns"] - ours["ts_ns"]
    middle = int(apart.median())  # type: ignore[arg-type]
    return Offset(middle, FIRST, int((apart - middle).abs().max()))  # type: ignore[arg-type]


def _pairs(
    logged: pl.DataFrame, captured: pl.DataFrame, by_size: bool, off_ns: int
) -> pl.DataFrame:
    """`apart`: time from a datagram of the log to each of the capture that may be the same."""
    ours, theirs = (
        _paused(side, most) for side, most in zip((logged, captured), PAUSES, strict=True)
    )
    common = ours.join(theirs, how="cross", suffix="_seen")
    late = pl.col("pause") * PAUSE_OFF if off_ns == SEARCHES[-1][0] else pl.lit(0.0)
    allowed = pl.max_horizontal(pl.lit(float(off_ns)), late)
    alike = (pl.col("pause") - pl.col("pause_seen")).abs() <= allowed
    if by_size:
        alike &= pl.col("bytes") == pl.col("bytes_seen")
    paused = common.filter(alike)
    both = [paused, _rare(logged, captured)] if by_size else [paused]
    return pl.concat(pairs.select(apart=pl.col("ts_ns_seen") - pl.col("ts_ns")) for pairs in both)


def _paused(side: pl.DataFrame, most: int) -> pl.DataFrame:
    """The datagrams that follow the longest pauses."""
    after = side.with_columns(pause=pl.col("ts_ns").diff()).drop_nulls("pause")
    return after.top_k(most, by="pause").select("ts_ns", "bytes", "pause")


def _rare(logged: pl.DataFrame, captured: pl.DataFrame) -> pl.DataFrame:
    """Datagrams of sizes that few have, each with all that are as long."""
    few = pl.len().over("bytes") <= MOST_OF_A_SIZE
    ours, theirs = (
        side.filter(few).select("ts_ns", "bytes").drop_nulls() for side in (logged, captured)
    )
    return ours.join(theirs, on="bytes", suffix="_seen")


def _voted(pairs: pl.DataFrame, bin_ns: int) -> int | None:
    """The offset with the most votes, if it has enough and no other comes near."""
    bins = pairs.group_by(bin=pl.col("apart") // bin_ns).agg(n=pl.len())
    # A border between two bins may go right through the votes.
    after = bins.select(bin=pl.col("bin") - 1, more="n")
    both = bins.join(after, on="bin", how="left").with_columns(
        n=pl.col("n") + pl.col("more").fill_null(0)
    )
    ordered = both.sort("n", "bin", descending=[True, False])
    if ordered.is_empty() or ordered["n"][0] < MIN_MATCHED:
        return None
    best = int(ordered["bin"][0])
    far = ordered.filter((pl.col("bin") - best).abs() >= FAR_BINS)
    other = far["n"][0] if far.height else 0
    if ordered["n"][0] < CLEAR_VOTES * other:
        return None
    around = pl.col("apart").is_between(best * bin_ns, (best + 2) * bin_ns)
    return int(pairs.filter(around)["apart"].median())  # type: ignore[arg-type]


def _refined(
    logged: pl.DataFrame, captured: pl.DataFrame, offset_ns: int, by_size: bool
) -> Offset | None:
    """The median over all datagrams that have one at their place."""
    placed = logged.select("bytes", at=pl.col("ts_ns") + offset_ns).sort("at")
    seen = captured.select("bytes", "ts_ns").sort("ts_ns")
    if by_size:
        placed = placed.drop_nulls("bytes")
    near = placed.join_asof(
        seen,
        left_on="at",
        right_on="ts_ns",
        by="bytes" if by_size else None,
        strategy="nearest",
        tolerance=NEAR_NS,
        coalesce=False,
        check_sortedness=False,
    ).drop_nulls("ts_ns")
    if near.height < MIN_MATCHED:
        return None
    apart = near["ts_ns"] - near["at"]
    middle = int(apart.median())  # type: ignore[arg-type]
    residual = int((apart - middle).abs().median())  # type: ignore[arg-type]
    return Offset(offset_ns + middle, near.height, residual)
