"""Short flows between two hosts, judged together: completion time, marks and losses.

Each of them ends before a round trip of congestion control shows anything. Many of them show how
long a request of their size takes on the path, which is what their user feels.
"""

from __future__ import annotations

import polars as pl

from l4strace.derive import marked, neighbors, vantage
from l4strace.evidence import Capture, kept
from l4strace.wording.quantities import count, quantity, share

MIN_SHORT_FLOWS = 5
"""Flows from which a median and a largest completion time are meaningful. By eye."""

FEW_BYTES = 14_600
"""Payload up to which a flow is not called large and a direction has no charts beside a larger one:
an initial window of 10 segments (RFC 6928) is sent in one round trip."""

LARGEST_BYTES = 2_000_000
"""Payload up to which a flow is short: with the initial window of 10 (RFC 6928) slow start needs
eight round trips for it, fewer than `neighbors.MIN_ROUNDS`."""

SMALLEST_BYTES = 2_000
"""More than a control connection: iperf3 sends some hundred bytes on its own."""


@kept
def flows(capture: Capture) -> pl.DataFrame:
    """One row per short flow, as the input nearest to its sender saw it.

    Columns: `source`, `path`, `flow`, `port` (of the service), `payload_bytes`, `data_segments`,
    `completion_us`, `marks` (packets), `marked_as` and `retransmits`.
    """
    ports = capture.flows.select("source", "flow", "client_port", "server_port", "ended")
    sent = vantage.once(capture, neighbors.directions(capture)).join(
        ports, on=["source", "flow"], how="left", maintain_order="left"
    )
    short = sent.filter(
        pl.col("payload_bytes").is_between(SMALLEST_BYTES, LARGEST_BYTES)
        & (pl.col("ended") != "open")
    )
    return short.select(
        "source",
        "path",
        "flow",
        pl.min_horizontal("client_port", "server_port").alias("port"),
        "payload_bytes",
        "data_segments",
        ((pl.col("last_ns") - pl.col("first_ns")) / 1e3).alias("completion_us"),
        marked.packets().alias("marks"),
        "marked_as",
        "retransmits",
    )


@kept
def groups(capture: Capture) -> pl.DataFrame:
    """One row per source, path and server port with at least five short flows.

    Columns: `source`, `path`, `port`, `flows`, `payload_bytes` (median), `completion_us` (median),
    `completion_p99_us`, `marked` (share of packets), `marked_as` and `retransmits`.
    """
    return (
        flows(capture)
        .group_by("source", "path", "port")
        .agg(
            pl.len().alias("flows"),
            pl.col("payload_bytes").median(),
            pl.col("completion_us").median(),
            pl.col("completion_us").quantile(0.99, "nearest").alias("completion_p99_us"),
            (pl.col("marks").sum() / pl.col("data_segments").sum()).alias("marked"),
            pl.col("marked_as").mode().sort().first(),
            pl.col("retransmits").sum(),
        )
        .filter(pl.col("flows") >= MIN_SHORT_FLOWS)
        .sort("source", "path", "port")
    )


def sentence(capture: Capture) -> str:
    """`39 short flows to port 5303 (195 kB each): median 120 ms, P99 310 ms`, or nothing."""
    return "; ".join(_clause(row) for row in groups(capture).head(3).iter_rows(named=True))


def _clause(row: dict[str, object]) -> str:
    size, middle, late = (
        quantity(row["payload_bytes"], "byte"),  # type: ignore[arg-type]
        quantity(row["completion_us"], "us"),  # type: ignore[arg-type]
        quantity(row["completion_p99_us"], "us"),  # type: ignore[arg-type]
    )
    facts = [f"completed in {middle} (median), {late} (P99)"]
    if row["marked"]:
        facts.append(f"{share(row['marked'])} of packets marked")  # type: ignore[arg-type]
    if row["retransmits"]:
        facts.append(f"{count(row['retransmits'], 'packet')} retransmitted")  # type: ignore[arg-type]
    return f"{row['flows']} short flows of {size} (port {row['port']}) {', '.join(facts)}"


def is_long(capture: Capture, flow: int) -> bool:
    """More payload than a short flow has."""
    sent = capture.directions.filter(pl.col("flow") == flow)["payload_bytes"].max()
    return isinstance(sent, int) and sent > LARGEST_BYTES
