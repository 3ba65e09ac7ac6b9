"""Completion time of short flows by their size."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from l4strace.derive import short_flows
from l4strace.page.case import Case
from l4strace.page.chart import Chart
from l4strace.page.drawing.layout import COMPARING, chart, logarithmic
from l4strace.page.drawing.palette import ECT0, ECT1, NOT_ECT
from l4strace.page.drawing.series import MS, dots, points_of
from l4strace.wording.amounts import data_size, duration, share
from l4strace.wording.quantities import count

KB = 1e-3
SIZES = (10_000, 100_000, 1_000_000, short_flows.LARGEST_BYTES)
"""Upper ends of the size classes in bytes: the first fits into an initial window of 10 segments
(RFC 6928), each next takes about three more round trips of slow start."""
SENT_AS = (
    ("ect1", "ECT(1)", ECT1, "circle"),
    ("ect0", "ECT(0)", ECT0, "square"),
    ("not_ect", "Not-ECT", NOT_ECT, "diamond"),
)


class ShortRow(NamedTuple):
    """The short flows of one size and codepoint, in words."""

    size: str
    sent_as: str
    flows: str
    median: str
    p99: str
    marked: str


def table(case: Case) -> tuple[ShortRow, ...]:
    """Rows by size, then codepoint; none with fewer flows than a median needs."""
    flows = short_flows.flows(case.evidence)
    if flows.height < short_flows.MIN_SHORT_FLOWS:
        return ()
    names = {column: name for column, name, *_ in SENT_AS}
    rows = []
    below = 0
    for size in SIZES:
        for sent_as in names:
            own = flows.filter(
                (pl.col("payload_bytes") > below)
                & (pl.col("payload_bytes") <= size)
                & (pl.col("marked_as") == sent_as)
            )
            if own.height:
                rows.append(_row(own, f"up to {data_size(size)}", names[sent_as]))
        below = size
    return tuple(rows)


def _row(own: pl.DataFrame, size: str, sent_as: str) -> ShortRow:
    times = own["completion_us"]
    return ShortRow(
        size,
        sent_as,
        f"{own.height:,}",
        duration(times.quantile(0.5, "nearest")),
        duration(times.quantile(0.99, "nearest")),
        share(int(own["marks"].sum()), int(own["data_segments"].sum())),
    )


def completion(case: Case) -> Chart | None:
    """One dot per short flow, by the codepoint it was sent with."""
    flows = short_flows.flows(case.evidence)
    if flows.height < short_flows.MIN_SHORT_FLOWS:
        return None
    ordered = flows.sort("payload_bytes", "completion_us").with_columns(
        (pl.col("payload_bytes") * KB).alias("x")
    )
    traces = [
        dots(points_of(own, "completion_us", case.points, MS), name, stroke, symbol)
        for column, name, stroke, symbol in SENT_AS
        if (own := ordered.filter(pl.col("marked_as") == column)).height
    ]
    sizes, times = logarithmic(ordered["x"]), logarithmic(ordered["completion_us"] * MS)
    figure = chart(traces, "kB", "ms", x=sizes, y=times, height=COMPARING)
    caption = (
        f"{count(flows.height, 'flow')} of at most {data_size(short_flows.LARGEST_BYTES)}, from "
        "the first packet of the sender to its last."
    )
    title = "Completion time of short flows"
    return Chart("traffic-completion", title, caption, figure.height, figure.spec)
