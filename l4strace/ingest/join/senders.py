"""Logs of user-space senders -> flows over UDP: by the ends that a log names, and by the clock.

A log may name both ends (qlog), one (UDP Prague) or none (SCReAM). What it names must agree; then
the times and sizes of its datagrams, laid beside those of the capture, show which flow it is and
how far the clocks are apart (`alignment`). A capture at the other end sees one direction later and
the other one earlier: their mean is the offset. A log that states Unix time and has no datagrams
joins the one flow that agrees with it and overlaps it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from l4strace.core import _native
from l4strace.evidence import Capture
from l4strace.ingest import file_names
from l4strace.ingest.join import alignment
from l4strace.ingest.join.clock import Placement, beside_stated
from l4strace.ingest.join.sockets import LIFE, SLACK_NS, plain
from l4strace.ingest.logs.samples import MOST_DATAGRAMS, Log
from l4strace.ingest.packets import OF_DATAGRAMS
from l4strace.schema.words import CAPTURES

MOST_FLOWS = 16
"""Flows that are tried for a log that does not name both ends: those that carry most."""
MOST_LIVES = 8
"""Connections of a log that are laid beside the captures; all of them have one clock."""
UNNAMED = "udp"
"""Transport of flows whose content shows no other one."""
CANDIDATE = {
    "sk": pl.String(),
    "flow": pl.UInt32(),
    "forward": pl.Boolean(),
    "named": pl.Boolean(),
    "flow_first_ns": pl.Int64(),
    "flow_last_ns": pl.Int64(),
}
BOTH_ENDS = ["saddr", "sport", "daddr", "dport"]


class Place(NamedTuple):
    """Where a log belongs: its offset, and flow and forward by LIFE."""

    placed: Placement
    joined: pl.DataFrame


class _Fit(NamedTuple):
    """One connection laid beside one flow direction of one capture."""

    sk: str
    flow: int
    forward: bool
    offset_ns: int
    residual_ns: int
    matched: int


def place(log: Log, lives: pl.DataFrame, capture: Capture) -> Place:
    """Puts a log on the run's clock, and its connections (``lives``) with flows of the capture."""
    stated = log.unix_offset_ns
    nowhere = lives.select(*LIFE, flow=pl.lit(None, pl.UInt32), forward=pl.lit(None, pl.Boolean))
    found = _candidates(log, lives, capture)
    if found.is_empty():
        return Place(Placement(stated or 0), nowhere.clear())
    fit = _best(log, found, capture)
    if fit is None and stated is None:
        why = "no offset between its clock and the packets' fits the times of its datagrams"
        return Place(Placement(0, refused=why), nowhere.clear())
    placed = Placement(stated or 0)
    if fit is not None:
        placed = beside_stated(log, fit.offset_ns, fit.residual_ns)
    agreed = _overlapping(lives, found, placed.offset_ns, fit)
    return Place(placed, nowhere.drop("flow", "forward").join(agreed, on="sk"))


def _candidates(log: Log, lives: pl.DataFrame, capture: Capture) -> pl.DataFrame:
    """Connections and the flow directions that agree with what the log names, largest first.

    `named`: the log names both ends.
    """
    carried = capture.udp_directions.group_by("flow").agg(pl.col("payload_bytes").sum())
    flows = capture.udp_flows.group_by("flow").agg(
        pl.col("transport", "client", "client_port", "server", "server_port").first(),
        flow_first_ns=pl.col("first_ns").min(),
        flow_last_ns=pl.col("last_ns").max(),
    )
    ways = [
        flows.rename({own: "fs", f"{own}_port": "fp", other: "fd", f"{other}_port": "fq"}).select(
            *("flow", "transport", "fs", "fp", "fd", "fq", "flow_first_ns", "flow_last_ns"),
            forward=pl.lit(own == "client"),
        )
        for own, other in (("client", "server"), ("server", "client"))
    ]
    agrees = [_agrees(*pair) for pair in zip(BOTH_ENDS, ("fs", "fp", "fd", "fq"), strict=True)]
    named = pl.all_horizontal(pl.col("sport", "daddr", "dport").is_not_null())
    kind = pl.col("transport").is_in([log.transport, UNNAMED])
    pairs = lives.join(pl.concat(ways), how="cross").with_columns(named=named)
    fitting = pairs.filter(*agrees, pl.col("named") | kind).join(carried, on="flow", how="left")
    ordered = fitting.sort("payload_bytes", "flow", descending=[True, False], nulls_last=True)
    return ordered.select(*CANDIDATE).cast(CANDIDATE)  # type: ignore[arg-type]


def _agrees(logged: str, captured: str) -> pl.Expr:
    known = plain(logged) if logged.endswith("addr") else pl.col(logged)
    return (known == pl.col(captured)).fill_null(True)


def _best(log: Log, found: pl.DataFrame, capture: Capture) -> _Fit | None:
    """The closest fit of any connection to any candidate in any capture that can be read again."""
    sizes = log.datagrams.group_by("sk").agg(n=pl.len())
    lives = (
        found.select("sk").unique(maintain_order=True).join(sizes, on="sk", maintain_order="left")
    )
    chosen = lives.top_k(MOST_LIVES, by="n")["sk"]
    tried = found.filter(pl.col("sk").is_in(chosen.implode()))
    numbers = tried["flow"].unique(maintain_order=True).head(MOST_FLOWS)
    fits = [
        fit
        for row in capture.sources.filter(pl.col("kind").is_in(CAPTURES)).iter_rows(named=True)
        if file_names.read_twice(row["path"])
        for fit in _fits(log, tried, capture, row, numbers)
    ]
    # The capture beside the sender sees both directions at the same offset.
    return min(fits, key=lambda fit: (fit.residual_ns, -fit.matched), default=None)


def _fits(
    log: Log, tried: pl.DataFrame, capture: Capture, source: dict[str, Any], numbers: pl.Series
) -> list[_Fit]:
    here = pl.col("source") == source["source"]
    flows = capture.udp_flows.filter(here, pl.col("flow").is_in(numbers.implode()))
    ends = flows.select(*OF_DATAGRAMS).rows()
    if not ends:
        return []
    path = file_names.opened(source["path"])
    seen = pl.DataFrame(_native.datagrams(path, ends, MOST_DATAGRAMS))
    seen = seen.with_columns(pl.col("ts_ns") + (source["clock_offset_ns"] or 0))
    fits = []
    for row in tried.filter(pl.col("flow").is_in(flows["flow"].implode())).iter_rows(named=True):
        ours = log.datagrams.filter(pl.col("sk") == row["sk"]).sort("ts_ns")
        theirs = seen.filter(pl.col("flow") == row["flow"]).sort("ts_ns")
        ways = [
            (
                ours.filter(pl.col("along") == along),
                theirs.filter((pl.col("forward") == row["forward"]) == along),
            )
            for along in (True, False)
        ]
        offsets = [alignment.found(*way) for way in ways]
        if row["named"] and offsets == [None, None]:
            begun = [alignment.of_beginnings(*way) for way in ways]
            offsets = begun if None not in begun else offsets
        if (fit := _fit(row, [one for one in offsets if one is not None])) is not None:
            fits.append(fit)
    return fits


def _fit(row: dict[str, Any], offsets: list[alignment.Offset]) -> _Fit | None:
    """The mean of both directions; half of what they are apart bounds its error."""
    if not offsets:
        return None
    low, high = min(one.offset_ns for one in offsets), max(one.offset_ns for one in offsets)
    residual = max((high - low) // 2, *(one.residual_ns for one in offsets))
    matched = sum(one.matched for one in offsets)
    return _Fit(row["sk"], row["flow"], row["forward"], (low + high) // 2, residual, matched)


def _overlapping(
    lives: pl.DataFrame, found: pl.DataFrame, offset_ns: int, fit: _Fit | None
) -> pl.DataFrame:
    """`sk`, `flow` and `forward`: what fits, and what names both ends at the same time.

    What names less joins when it is the only flow at that time.
    """
    times = lives.select(
        "sk", first=pl.col("first_ns") + offset_ns, last=pl.col("last_ns") + offset_ns
    )
    begins, ends = (
        pl.max_horizontal("first", "flow_first_ns"),
        pl.min_horizontal("last", "flow_last_ns"),
    )
    together = found.join(times, on="sk").filter(begins - ends <= SLACK_NS)
    alone = (pl.len() == 1).over("sk")
    sure = together.filter(pl.col("named") | alone) if fit is None else together.filter("named")
    rows = sure.select("sk", "flow", "forward")
    if fit is not None:
        shown = rows.clear().extend(
            pl.DataFrame([(fit.sk, fit.flow, fit.forward)], rows.schema, orient="row")
        )
        rows = pl.concat([shown, rows])
    return rows.unique("sk", keep="first", maintain_order=True)


def own_flows(
    lives: pl.DataFrame, log: Log, source: int, first_flow: int, offset_ns: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Columns of `flows` for connections that no capture shows, and flow and forward by LIFE.

    The lower port serves, as in a capture; the end whose port alone is known serves, too.
    """
    sends = pl.when(pl.all_horizontal(pl.col("sport", "dport").is_not_null()))
    forward = sends.then(pl.col("sport") >= pl.col("dport")).otherwise(pl.col("sport").is_null())
    rows = (
        lives.sort("first_ns", maintain_order=True)
        .with_row_index("row")
        .with_columns(forward=forward, flow=(pl.col("row") + first_flow).cast(pl.UInt32))
    )
    ends = {
        name: pl.when("forward").then(own).otherwise(other)
        for name, own, other in (
            *(("client", "saddr", "daddr"), ("client_port", "sport", "dport")),
            *(("server", "daddr", "saddr"), ("server_port", "dport", "sport")),
        )
    }
    flows = rows.select(
        "flow",
        source=pl.lit(source),
        transport=pl.lit(log.transport),
        initiator=pl.lit("port"),
        vantage=pl.when("forward").then(pl.lit("client")).otherwise(pl.lit("server")),
        first_ns=pl.col("first_ns") + offset_ns,
        last_ns=pl.col("last_ns") + offset_ns,
        **ends,
    )
    return flows, rows.select(*LIFE, "flow", "forward")
