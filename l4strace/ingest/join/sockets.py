"""Sockets of a log -> flows of the captures, by ports and, where both sides name them, addresses.

A probe may see no more than a socket pointer (a return probe, a closed socket); the pointer keeps
the ports of its last sample. A pointer that is used again with other ports is another socket.
"""

from __future__ import annotations

import polars as pl

from l4strace.ingest.logs.samples import IDENTITY
from l4strace.schema.capture import FLOWS
from l4strace.schema.keys import KEY

LIFE = ["sk", "sport", "dport"]
"""What distinguishes one socket's life from another's."""
ENDS = ["client", "client_port", "server", "server_port"]
BYTES_OFF = 0.05
"""Relative difference allowed between the payload that a tool reports and what packets show."""
RATE_OFF = 3.0
"""Relative difference allowed where the capture covers part of the socket's time: the rate may
differ from the mean by a factor of four, as a flow is alone at first or meets another rate. A
control connection differs by far more. By eye; the nearest flow is taken, and no flow twice."""
START_NS = 500_000_000
"""Time allowed between the first poll of a socket without ports and the start of its flow: flent
polls several times a second once the flow opens (60 ms in its recorded runs). By eye."""
WHOLE_TIME_SHARE = 0.95
"""Share of the socket's time from which the capture holds all of it."""
SLACK_NS = 1_000_000_000
"""How far a socket's samples may reach over the packets of its flow."""
REUSED_NS = 60_000_000_000
"""TCP_TIMEWAIT_LEN of the kernel: ports and addresses name one connection for as long."""


def with_ports(samples: pl.DataFrame) -> pl.DataFrame:
    """Fills in each socket's identity where a sample lacks it, as that of a closed socket does."""
    ports = ["sport", "dport"]
    samples = samples.with_columns(
        pl.when(pl.col("sport") > 0).then(pl.col(name)).alias(name) for name in ports
    ).with_columns(pl.col(name).forward_fill().backward_fill().over("sk") for name in ports)
    return samples.with_columns(
        pl.col(name).drop_nulls().first().over(LIFE) for name in ("saddr", "daddr")
    )


def sockets(samples: pl.DataFrame) -> pl.DataFrame:
    """One row per socket's life: LIFE, addresses, first and last time."""
    return samples.group_by(LIFE, maintain_order=True).agg(
        pl.col("saddr", "daddr").first(),
        first_ns=pl.col("ts_ns").min(),
        last_ns=pl.col("ts_ns").max(),
    )


def candidates(lives: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Sockets and the flow directions with their ports and, where known, addresses.

    Columns of ``lives`` plus flow, forward, flow_first_ns, flow_last_ns, and `begun`: whether the
    flow is older than the captures.
    """
    seen = flows.group_by("flow").agg(
        pl.col("client", "client_port", "server", "server_port").first(),
        begun=(pl.col("handshake") == "none").all(),
        flow_first_ns=pl.col("first_ns").min(),
        flow_last_ns=pl.col("last_ns").max(),
    )
    times = ["flow", "flow_first_ns", "flow_last_ns", "begun"]
    forward = seen.select(
        *times,
        fs="client",
        sport="client_port",
        fd="server",
        dport="server_port",
        forward=pl.lit(True),
    )
    backward = seen.select(
        *times,
        fs="server",
        sport="server_port",
        fd="client",
        dport="client_port",
        forward=pl.lit(False),
    )
    found = lives.join(pl.concat([forward, backward]), on=["sport", "dport"])
    agreed = found.filter(_agrees("saddr", "fs") & _agrees("daddr", "fd"))
    return agreed.select(*lives.columns, *times[:-1], "forward", "begun")


def by_bytes(
    lives: pl.DataFrame, flows: pl.DataFrame, directions: pl.DataFrame, sent: dict[str, int]
) -> pl.DataFrame:
    """Flows of sockets without ports: the direction between their hosts that sent as many bytes.

    ``sent`` is the payload that a socket sent, by `sk`. Of a socket that outlives the capture the
    part counts that the capture holds, at the socket's mean rate.
    """
    counted = lives.with_columns(sent=pl.col("sk").replace_strict(sent, default=None))
    counted = counted.filter(pl.col("sport").is_null() & pl.col("sent").is_not_null())
    ends = pl.DataFrame({"forward": [True, False]})
    hosts = flows.join(ends, how="cross").select(
        "source",
        "flow",
        "forward",
        fs=pl.when("forward").then("client").otherwise("server"),
        fd=pl.when("forward").then("server").otherwise("client"),
        flow_first_ns="first_ns",
        flow_last_ns="last_ns",
    )
    seen = hosts.join(directions.select(*KEY, "acked_bytes"), on=KEY)
    expected = pl.col("sent") * pl.col("held")
    acked = pl.col("acked_bytes").cast(pl.Float64)
    off = pl.max_horizontal(acked / expected, expected / acked) - 1
    whole = pl.col("held") == 1.0
    late = (pl.col("first_ns") - pl.col("flow_first_ns")).abs() > START_NS
    allowed = pl.when(whole).then(BYTES_OFF).when(~late).then(RATE_OFF).otherwise(0.0)
    return (
        counted.join(seen, how="cross")
        .filter(_agrees("saddr", "fs") & _agrees("daddr", "fd"))
        .with_columns(_held().alias("held"))
        .with_columns(off=off)
        .filter(pl.col("off") < allowed)
        .sort("off", maintain_order=True)
        .unique(LIFE, keep="first", maintain_order=True)
        .unique(["flow", "forward"], keep="first", maintain_order=True)
        .select(
            *lives.columns,
            *("flow", "flow_first_ns", "flow_last_ns"),
            "forward",
            begun=pl.lit(False),
        )
    )


def _held() -> pl.Expr:
    """Share of the socket's time in which the capture holds the flow; 1 for nearly all of it.

    A tool polls for some time longer or shorter than the flow sends, so only what the capture
    lacks at one end counts.
    """
    length = (pl.col("last_ns") - pl.col("first_ns")).cast(pl.Float64)
    common = pl.min_horizontal("last_ns", "flow_last_ns") - pl.max_horizontal(
        "first_ns", "flow_first_ns"
    )
    part = (common / length).clip(0.0, 1.0).fill_nan(1.0)
    return pl.when(part >= WHOLE_TIME_SHARE).then(1.0).otherwise(part)


def _agrees(logged: str, captured: str) -> pl.Expr:
    return (plain(logged) == plain(captured)).fill_null(True)


def plain(name: str) -> pl.Expr:
    """IPv4-mapped IPv6 addresses read as IPv4."""
    return pl.col(name).str.replace(r"^::ffff:", "")


def chosen(found: pl.DataFrame, offset_ns: int) -> pl.DataFrame:
    """One flow direction per socket: the one that its samples overlap most, ``offset_ns`` added.

    Sockets whose samples lie outside all candidates are left out, unless the captures began later:
    the flow had begun, and its socket may say no more.
    """
    first, last = pl.col("first_ns") + offset_ns, pl.col("last_ns") + offset_ns
    overlap = pl.min_horizontal(last, "flow_last_ns") - pl.max_horizontal(first, "flow_first_ns")
    named = pl.all_horizontal(pl.col("saddr", "daddr").is_not_null())
    before = pl.col("flow_first_ns") - last
    earlier = pl.col("begun") & named & before.is_between(0, REUSED_NS)
    return (
        found.with_columns(overlap=overlap)
        .filter((pl.col("overlap") >= -SLACK_NS) | earlier)
        .sort("overlap", descending=True, maintain_order=True)
        .unique(LIFE, keep="first", maintain_order=True)
        .select(*LIFE, "flow", "forward")
    )


def own_flows(
    lives: pl.DataFrame, source: int, first_flow: int, offset_ns: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of `flows` for sockets that no capture shows, and flow and forward by LIFE.

    The lower port serves. Sockets of one connection are one flow: both of its ends may be on this
    host, and its first and last samples may lack the pointer.
    """
    sends = pl.col("sport") >= pl.col("dport")
    ends = (
        lives.sort("first_ns", maintain_order=True)
        .with_row_index("row")
        .select(
            *LIFE,
            "row",
            forward=sends,
            client=pl.when(sends).then("saddr").otherwise("daddr"),
            client_port=pl.when(sends).then("sport").otherwise("dport"),
            server=pl.when(sends).then("daddr").otherwise("saddr"),
            server_port=pl.when(sends).then("dport").otherwise("sport"),
            first_ns=pl.col("first_ns") + offset_ns,
            last_ns=pl.col("last_ns") + offset_ns,
        )
    )
    ends = ends.with_columns(flow=_connection().rank("dense").cast(pl.UInt32) - 1 + first_flow)
    one_end = pl.col("forward").n_unique() == 1
    here = pl.when(pl.col("forward").first()).then(pl.lit("client")).otherwise(pl.lit("server"))
    flows = ends.group_by("flow", maintain_order=True).agg(
        pl.col(*ENDS).first(),
        pl.col("first_ns").min(),
        pl.col("last_ns").max(),
        source=pl.lit(source),
        initiator=pl.lit("port"),
        handshake=pl.lit("none"),
        mode=pl.lit("unknown"),
        mode_reason=pl.lit("Known from a kernel log only: no packets of this flow are at hand."),
        vantage=pl.when(one_end).then(here).otherwise(pl.lit("unknown")),
        ended=pl.lit("open"),
    )
    return FLOWS.conform(flows), ends.select(*LIFE, "flow", "forward")


def _connection() -> pl.Expr:
    """``row`` of the first socket of the same connection, of sockets in the order of time.

    The same ends are another connection after a pause. Without addresses a socket stands alone.
    """
    pause = pl.col("first_ns") - pl.col("last_ns").cum_max().shift(1).over(ENDS)
    first = pause.is_null() | (pause > SLACK_NS)
    leader = pl.when(first).then("row").forward_fill().over(ENDS)
    named = pl.all_horizontal(pl.col(*ENDS).is_not_null())
    return pl.when(named).then(leader).otherwise("row")


def identified(samples: pl.DataFrame, flow_of: pl.DataFrame) -> pl.DataFrame:
    """``samples`` with flow and forward of their socket, without the identity columns."""
    joined = samples.join(flow_of, on=LIFE, how="left", nulls_equal=True, maintain_order="left")
    return joined.drop(*IDENTITY)
