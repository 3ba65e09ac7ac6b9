"""The rounds of a run as the native core looks at them: handed over once, for every table."""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.derive import datagrams, neighbors, numbers, vantage
from l4strace.evidence import Capture, kept
from l4strace.schema.keys import KEY
from l4strace.schema.vantage import receiver

SENT = ("start_ns", "end_ns", "sent_packets", "sent_bytes", "limited_by")
"""What is known of a flow over UDP over time."""


@kept
def measured(capture: Capture) -> _native.Measured:
    """Rounds by direction and `round`, and the directions, numbered by row; and those over UDP."""
    ect1 = vantage.scalable_over_tcp(capture).lazy().select(*KEY, scalable=pl.lit(True))
    known = (
        neighbors.directions(capture).lazy().join(ect1, on=KEY, how="left", maintain_order="left")
    )
    directions = known.select(
        *KEY,
        "scalable",
        near=pl.col("vantage").ne_missing(receiver()),
        at=numbers.paths(capture),
        prague=(pl.col("data_ect1") + pl.col("data_ce") > 0)
        & pl.col("transport").fill_null("tcp").eq("tcp"),
    )
    return _made(capture, directions.collect().rechunk())


def _filled(rounds: pl.DataFrame) -> pl.DataFrame:
    """``rounds`` without numbers that no row has: to hand these over takes the room of all rows."""
    nulls = rounds.null_count().row(0, named=True)
    empty = (name for name, count in nulls.items() if rounds.height and count == rounds.height)
    return rounds.drop(name for name in empty if rounds.schema[name].is_numeric())


def _made(capture: Capture, directions: pl.DataFrame) -> _native.Measured:
    senders = datagrams.directions(capture).select(*KEY, "at").rechunk()
    over_udp = capture.udp_rounds.select(*KEY, *SENT).rechunk(), senders
    rounds = _filled(capture.rounds).rechunk()
    try:
        return _native.Measured(rounds, directions, *over_udp)
    except ValueError:  # those of a direction do not stand together
        rounds = rounds.sort(numbers.directions(capture), "round", maintain_order=True)
        return _native.Measured(rounds, directions, *over_udp)
