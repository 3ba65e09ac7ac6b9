"""Sockets that only a log shows, as a table of text: window, round trip, marks, losses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from l4strace.derive.senders import sender_logs
from l4strace.evidence import Capture
from l4strace.output.columns import fitting
from l4strace.wording.names import ends
from l4strace.wording.quantities import count, quantity, share
from l4strace.wording.sender_logs import named
from l4strace.wording.wrap import WIDTH, wrapped

HEADS = ("flow", "from", "to", "cc", "samples", "window", "RTT", "least", "CE", "retx")
NUMBERS = ("samples", "window", "RTT", "least", "CE", "retx")
"""Right-aligned."""
UNKNOWN = "-"
RETRANSMITTED = r"\bretrans:\d+/(\d+)"
"""Retransmissions that ss counted since the connection began."""
WAITS = 2.0
"""Median RTT over the least from which most of it is waiting."""
LEAST_WAIT_US = 1000.0
"""Below this hosts alone make as much. By eye."""
COUNTED = "window: median, in packets; RTT: median; CE, retx: as the {}."


def lines(capture: Capture, shown: Sequence[int], width: int = WIDTH) -> Iterator[str]:
    """The table and what it shows; nothing where packets tell more."""
    logged = numbers(capture).filter(pl.col("flow").is_in(list(shown)))
    if capture.directions.height or logged.is_empty():
        return
    flows = {row["flow"]: row for row in capture.flows.iter_rows(named=True)}
    sockets = logged.to_dicts()
    cells = [HEADS, *(_line(flows[row["flow"]], row) for row in sockets)]
    yield from fitting([cells], NUMBERS, width)
    over_tcp = {number for number, flow in flows.items() if flow["transport"] == "tcp"}
    kernels = over_tcp.issuperset(row["flow"] for row in sockets)
    yield wrapped(COUNTED.format("kernel counted" if kernels else "logs count"), width)
    for row in sockets:
        # Of flows over UDP `of_senders` has the marks of each log.
        if said := _shown(row, marks=row["flow"] in over_tcp):
            yield wrapped(f"Flow {row['flow']}: {said}.", width)
    yield from of_senders(capture, [row["flow"] for row in sockets], width)


def of_senders(capture: Capture, shown: Sequence[int], width: int = WIDTH) -> Iterator[str]:
    """What logs of user-space senders say of the flows, one sentence a log."""
    logged = sender_logs.summary(capture).filter(pl.col("flow").is_in(list(shown)))
    for row in logged.iter_rows(named=True):
        if said := named(row):
            yield wrapped(said, width)


def numbers(capture: Capture) -> pl.DataFrame:
    """One row per socket: `flow`, `cc`, `samples`, `window`, `rtt_us`, `least_us`, `delivered`,
    `marked` and `retransmits`; null for what the log does not have.
    """
    known = capture.kernel.filter(pl.col("flow").is_not_null()).sort("ts_ns")
    counted = pl.col("extra").str.extract(RETRANSMITTED, 1).cast(pl.Int64, strict=False)
    # UDP Prague and SCReAM state RTTs and no mean of them.
    over_udp = capture.flows.filter(pl.col("transport") != "tcp")["flow"]
    sampled = pl.when(pl.col("flow").is_in(over_udp.implode())).then("rs_rtt_us")
    rtt = pl.coalesce("srtt_us", sampled.cast(pl.Float64))
    # ss leaves out what is zero; other logs that have no such number do not say so.
    polled = pl.col("extra").str.contains('"ss":').fill_null(value=False).any()
    return (
        known.group_by("flow")
        .agg(
            pl.col("forward").first(),
            pl.col("cc").drop_nulls().last(),
            pl.len().alias("samples"),
            pl.col("snd_cwnd").median().alias("window"),
            rtt.median().alias("rtt_us"),
            pl.min_horizontal(pl.col("min_rtt_us").min(), rtt.min()).alias("least_us"),
            _grown("delivered").alias("delivered"),
            _grown("delivered_ce").alias("marked"),
            pl.coalesce(counted.max(), pl.when(polled).then(0)).alias("retransmits"),
        )
        .sort("flow")
    )


def _grown(name: str) -> pl.Expr:
    values = pl.col(name).drop_nulls().cast(pl.Int64)
    return (values.last() - values.first()) % 2**32


def _line(flow: dict[str, Any], row: dict[str, Any]) -> tuple[str, ...]:
    window, retransmits = row["window"], row["retransmits"]
    return (
        str(row["flow"]),
        *ends(flow, row["forward"] if flow["transport"] != "tcp" else True),
        row["cc"] or UNKNOWN,
        f"{row['samples']:,}",
        UNKNOWN if window is None else f"{window:,.0f}",
        *(
            UNKNOWN if row[name] is None else quantity(row[name], "us")
            for name in ("rtt_us", "least_us")
        ),
        share(row["marked"] / row["delivered"])
        if row["marked"] is not None and row["delivered"]
        else UNKNOWN,
        UNKNOWN if retransmits is None else f"{retransmits:,}",
    )


def _shown(row: dict[str, Any], *, marks: bool) -> str:
    """What the numbers of one socket show, in clauses."""
    clauses = []
    rtt, least = row["rtt_us"], row["least_us"]
    if rtt is not None and least and rtt >= max(WAITS * least, least + LEAST_WAIT_US):
        above = quantity(rtt - least, "us")
        clauses.append(
            f"in half of the samples the RTT is {above} or more above its least: data waits in a "
            "queue or at a host"
        )
    if marks and row["marked"] is not None and row["delivered"]:
        marked = f"{row['marked']:,}" if row["marked"] else "none"
        were = "were" if row["marked"] > 1 else "was"
        clauses.append(f"{marked} of {count(row['delivered'], 'packet')} {were} marked CE")
    if row["retransmits"]:
        clauses.append(count(row["retransmits"], "retransmission"))
    return "; ".join(clauses)
