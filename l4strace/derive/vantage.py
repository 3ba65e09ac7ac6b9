"""The capture nearest to each direction's sender: the one whose RTT is whole.

Two captures of one run hold every flow twice. Terminal, page, rules and JSON all ask here which of
them counts. Nearest first: at the sender, in the middle, unknown, at the receiver; of equals, the
input that was named first.
"""

from __future__ import annotations

import polars as pl

from l4strace.evidence import Capture, kept, over_udp, traffic
from l4strace.schema.keys import DIRECTION, KEY
from l4strace.schema.vantage import at_sender as at_sender
from l4strace.schema.vantage import distance


@kept
def nearest(capture: Capture) -> pl.DataFrame:
    """One row per flow direction: the `source` nearest to its sender, and `far`.

    Columns: KEY and `far`, the input nearest to the receiver (null where only one saw it).
    """
    vantages = capture.flows.lazy().select("source", "flow", "vantage")
    joined = capture.directions.lazy().select(KEY)
    joined = joined.join(vantages, on=["source", "flow"], how="left", maintain_order="left")
    ranked = joined.sort(*DIRECTION, distance(), "source")
    return (
        ranked.group_by(DIRECTION, maintain_order=True)
        .agg(
            pl.col("source").first(),
            far=pl.when(pl.len() > 1).then(pl.col("source").last()).first(),
        )
        .select(*KEY, "far")
        .collect()
    )


def once(capture: Capture, table: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``table`` from the capture nearest to each direction's sender."""
    everything = traffic(capture)
    if table.is_empty() or everything.directions.is_empty():
        return table
    if _alone(everything) and capture.kernel.is_empty():
        return table
    return table.join(nearest(everything), on=KEY, how="semi")


def first(capture: Capture, rows: pl.DataFrame) -> pl.DataFrame:
    """One row per flow direction: of the captures in ``rows``, the one nearest to the sender.

    For what any capture may show, such as a damaged option: ``rows`` are those that show it.
    """
    if rows.is_empty():
        return rows
    near = rows.select(KEY).join(
        capture.flows.select("source", "flow", "vantage").unique(["source", "flow"]),
        on=["source", "flow"],
        how="left",
        maintain_order="left",
    )
    ranked = rows.with_columns(near.select(_distance=distance()).to_series())
    ranked = ranked.sort(*DIRECTION, "_distance", "source").drop("_distance")
    return ranked.unique(DIRECTION, keep="first", maintain_order=True)


@kept
def scalable(capture: Capture) -> pl.DataFrame:
    """Directions whose sender marks most of its data ECT(1), which requests L4S (RFC 9331)."""
    ect1 = pl.col("data_ect1").fill_null(0)
    others = pl.col("data_ect0").fill_null(0) + pl.col("data_not_ect").fill_null(0)
    counted = capture.directions.select(*KEY, "data_ect1", "data_ect0", "data_not_ect")
    return once(capture, counted).filter((ect1 > 0) & (ect1 >= others)).select(KEY)


@kept
def scalable_over_tcp(capture: Capture) -> pl.DataFrame:
    """Directions of `scalable` that may run the kernel's Prague, with its laws and detector."""
    return scalable(capture).join(over_udp(capture), on=["source", "flow"], how="anti")


def of_rounds(capture: Capture, table: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``table``, which follow from rounds, from the capture nearest to each sender."""
    # The largest table: with one capture it need not be copied, whatever logs there are.
    return table if _alone(capture) else once(capture, table)


def _alone(capture: Capture) -> bool:
    """No direction was captured twice: there is nothing to choose."""
    return nearest(capture).height == capture.directions.height
