"""Flows over UDP whose feedback is not read, as captures of both ends show them.

Marks, losses and one-way delays are known as sums of the whole run, and nothing of the noise:
most signs are unknown, and only marks that begin early name a kind.
"""

from math import nan

import polars as pl

from l4strace.bottleneck.evidence import Direction
from l4strace.derive import neighbors, one_way
from l4strace.derive.queue_features import L4S_MARK_US
from l4strace.evidence import Capture, Row
from l4strace.schema.keys import KEY, PATH

NO_EMPTY_PATH = (
    "no handshake shows an empty path: the smallest delay may hold a queue, and at which delay "
    "marks begin is not known"
)
"""Why a direction without `begun` is not judged."""

NUMBERS = {name: nan for name, of in Direction.__annotations__.items() if of is float}
"""What is not measured is unknown, never 0."""


def measured(capture: Capture) -> list[Row]:
    """Rows of `paths` with marks.

    With `source`, `path`, `marked_as`, `acked`, `marks` and `all_marks`; `begun`: the path has been
    seen without queue.
    """
    if capture.paths.is_empty():
        return []
    sent = neighbors.datagrams(capture).select(*KEY, "path", "marked_as")
    arrived = one_way.end_to_end(capture).rename({"near": "source", "matched": "acked"})
    marks = pl.col("ect1_to_ce") + pl.col("ect0_to_ce")
    here = arrived.unique(KEY, keep="first", maintain_order=True).join(sent, on=KEY)
    begun = _begun(capture).with_columns(begun=pl.lit(True))
    placed = here.join(begun, on=PATH, how="left", maintain_order="left")
    counted = placed.filter(marks > 0).with_columns(pl.col("begun").fill_null(False))
    return counted.with_columns(marks=marks, all_marks=marks).sort(KEY).to_dicts()


def _begun(capture: Capture) -> pl.DataFrame:
    """Paths of which the capture has a handshake: its smallest delay is of an empty queue."""
    over_tcp = neighbors.directions(capture).filter("began").select(PATH)
    quic = capture.udp_flows.filter(pl.col("version").is_not_null()).select("source", "flow")
    over_udp = neighbors.datagrams(capture).join(quic, on=["source", "flow"], how="semi")
    return pl.concat([over_tcp, over_udp.select(PATH)]).unique()


def of_row(row: Row, *, phases: int, ect1_on_path: bool) -> Direction:
    """A row of `measured`."""
    known = {
        "phases": phases,
        "acked": row["acked"],
        "marks": row["marks"],
        "all_marks": row["all_marks"],
        "lost_between": row["lost"],
        "mark_limit_us": L4S_MARK_US,
        "marking_delay_us": row["marked_owd_p10_us"],
        "queue_delay_us": row["owd_median_us"],
        "queue_max_us": row["owd_max_us"],
    }
    numbers = NUMBERS | {name: value for name, value in known.items() if value is not None}
    return Direction(marked_as=row["marked_as"], ect1_on_path=ect1_on_path, **numbers)
