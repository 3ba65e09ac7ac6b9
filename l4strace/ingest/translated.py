"""Conversations that one capture holds twice: in front of and behind address translation.

`tcpdump -i any` on a router that translates addresses sees each packet with both addresses. The
initial sequence number of the client stays, and so does the address of one side; both copies of the
SYN pass before it is answered.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.schema.words import Stat
from l4strace.wording.names import ends


def once(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The tables of the tracker with each translated conversation as it was seen first."""
    flows = tables["flows"]
    answered = tables["directions"].filter("forward").select("source", "flow", "handshake_rtt_us")
    copies = _copies(flows.join(answered, on=("source", "flow")))
    if not copies:
        return tables
    gone = pl.DataFrame(
        {"source": [copy["source"] for copy, _ in copies], "flow": [c["flow"] for c, _ in copies]},
        schema={name: flows.schema[name] for name in ("source", "flow")},
    )
    kept = {
        name: tables[name].join(gone, on=("source", "flow"), how="anti", maintain_order="left")
        for name in ("flows", "directions", "rounds")
    }
    rows = [_stat(copy, first) for copy, first in copies]
    stats = pl.DataFrame(rows, schema=tables["stats"].schema)
    return {**tables, **kept, "stats": pl.concat([tables["stats"], stats])}


def _copies(flows: pl.DataFrame) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each row that repeats an earlier one under another address, with that one."""
    known = flows.drop_nulls(("client_isn", "handshake_rtt_us")).sort("source", "first_ns", "flow")
    # More of one number are made by a generator of traffic, which translation is not.
    twice = known.filter(pl.len().over("source", "client_isn") == 2)
    pairs = twice.sort("source", "client_isn", maintain_order=True).iter_slices(2)
    rows = ([*pair.iter_rows(named=True)] for pair in pairs)
    return [(copy, first) for first, copy in rows if _same(first, copy)]


def _same(first: dict[str, Any], row: dict[str, Any]) -> bool:
    """Whether exactly one side has another address, and the first SYN was not yet answered."""
    sides = [
        all(first[name] == row[name] for name in (side, f"{side}_port"))
        for side in ("client", "server")
    ]
    later_us = (row["first_ns"] - first["first_ns"]) / 1000
    return sum(sides) == 1 and later_us < first["handshake_rtt_us"]


def _stat(copy: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    client, server = ends(copy)
    return {
        "source": copy["source"],
        "name": Stat.FLOWS_TRANSLATED,
        "count": 1,
        "severity": "info",
        "detail": f"{client} to {server} is flow {first['flow']} with a translated address.",
    }
