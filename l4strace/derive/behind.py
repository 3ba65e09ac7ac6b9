"""What a capture behind a queue shows of it: packets that come with their marks, or never come.

At the egress of a router, or behind the sender's own queue, neither delays nor what is in flight
show that queue.
"""

from __future__ import annotations

import polars as pl

from l4strace.derive import neighbors, overall
from l4strace.evidence import Capture, kept
from l4strace.schema.keys import KEY, PATH

MOSTLY = 0.5
"""Packets marked, or lost, before the capture as part of all that feedback reports, or that were
retransmitted, from which the queue that does so is not the one that delays show: most."""


@kept
def counts(capture: Capture) -> pl.DataFrame:
    """Marks before the capture, and all that feedback reports, of the path of each direction.

    Under classic ECN ECE may last for several rounds, and CWR follows losses, too: the fewer count.
    """
    echoed = overall.directions(capture).lazy().select(*KEY, "echoed")
    ways = neighbors.directions(capture).lazy()
    answered = pl.min_horizontal("cwr_packets", pl.col("echoed").fill_null(0))
    reported = pl.coalesce("ce_fed_back_best", answered, 0)
    return (
        ways.select(*KEY, "path", "data_ce", "ce_fed_back_best", "cwr_packets")
        .join(echoed, on=KEY, how="left", maintain_order="left")
        .select(
            *KEY,
            path_marked_before=pl.col("data_ce").fill_null(0).sum().over(PATH),
            path_reported=reported.sum().over(PATH),
        )
        .collect()
    )


@kept
def directions(capture: Capture) -> pl.DataFrame:
    """Directions whose marks, or losses, mostly come from a queue before the capture: KEY."""
    lost, repaired = pl.col("lost_before"), pl.col("retransmits").fill_null(0)
    marked, reported = pl.col("path_marked_before"), pl.col("path_reported")
    return (
        capture.directions.lazy()
        .select(*KEY, "lost_before", "retransmits")
        .join(counts(capture).lazy(), on=KEY, how="left", maintain_order="left")
        .filter(
            ((marked > 0) & (marked >= MOSTLY * reported))
            | ((lost > 0) & (lost >= MOSTLY * repaired))
        )
        .select(KEY)
        .collect()
    )
