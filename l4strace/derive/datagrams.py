"""Flows over UDP beside those whose feedback is read: their paths, and what they take of a link."""

from __future__ import annotations

import polars as pl

from l4strace.derive import neighbors, numbers
from l4strace.evidence import Capture, kept, over_udp
from l4strace.schema.keys import KEY, PATH

LEAST_SHARE = 1 / 20
"""Part of a rate from which a flow over UDP counts beside it: a queue at 95 % of its link is no
other queue than at 100 %."""


@kept
def directions(capture: Capture) -> pl.DataFrame:
    """Directions over UDP that share their path with others.

    Columns: KEY, `path` and its number `at`, `first_ns`, `last_ns` and `bps`, the mean rate. A path
    inside one network has both ways of its flows: there only those count that travel as most of its
    data does.
    """
    over_udp = neighbors.datagrams(capture)
    placed = over_udp.with_columns(_receiver(), at=numbers.placed(capture, over_udp), bps=_rate())
    columns = (*KEY, "path", "at", "first_ns", "last_ns", "bps")
    if placed.is_empty():
        return placed.select(columns)
    over_tcp = neighbors.directions(capture).with_columns(_receiver())
    ends = (*PATH, "sender", "receiver")
    most = [
        table.sort("payload_bytes", descending=True, nulls_last=True).select(ends)
        for table in (over_tcp, placed)
    ]
    main = pl.concat(most).unique(PATH, keep="first", maintain_order=True)
    ways = placed.join(main, on=PATH, how="left", maintain_order="left", suffix="_of_most")
    same = {end: pl.col(end) == pl.col(f"{end}_of_most") for end in ("sender", "receiver")}
    back = (pl.col("sender") == pl.col("receiver_of_most")) | (
        pl.col("receiver") == pl.col("sender_of_most")
    )
    one_way = pl.col("near") != pl.col("far")
    shared = one_way | ((same["sender"] | same["receiver"]) & ~back)
    return ways.filter(shared).select(columns)


def measured(capture: Capture) -> pl.DataFrame:
    """Rows of `neighbors.directions` over UDP, whose feedback is read, with `bps`."""
    known = neighbors.directions(capture).filter(pl.col("data_packets") > 0)
    read = known.join(capture.udp_rounds, on=KEY, how="anti", maintain_order="left")
    return read.join(over_udp(capture), on=["source", "flow"], how="semi").with_columns(bps=_rate())


def _receiver() -> pl.Expr:
    return pl.when("forward").then("server").otherwise("client").alias("receiver")


@kept
def large(capture: Capture) -> pl.DataFrame:
    """`source`, `path` and `flow` of each flow over UDP that takes much beside TCP on its path."""
    known = directions(capture)
    if known.is_empty():
        return known.select(*PATH, "flow")
    over_tcp = neighbors.directions(capture).select(*PATH, bps=_rate())
    fastest = over_tcp.group_by(PATH).agg(pl.col("bps").max().alias("most"))
    found = known.join(fastest, on=PATH, maintain_order="left")
    much = (pl.col("bps") > 0) & (pl.col("bps") >= LEAST_SHARE * pl.col("most"))
    return found.filter(much).select(*PATH, "flow").unique(maintain_order=True)


def _rate() -> pl.Expr:
    length = pl.col("last_ns") - pl.col("first_ns")
    return pl.when(length > 0).then(8e9 * pl.col("payload_bytes") / length)
