"""Conversations that one capture holds twice: in front of and behind address translation.

`tcpdump -i any` on a router that translates addresses sees each packet with both addresses. The
initial sequence number of the client stays, and so does the address of one side.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.schema.words import Stat
from l4strace.wording.names import ends

TOGETHER_NS = 1_000_000_000
"""Both copies of a SYN pass the router within this time; a number that chance repeats does not."""


def once(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The tables of the tracker with each translated conversation as it was seen first."""
    flows = tables["flows"]
    copies = _copies(flows)
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
    known = flows.drop_nulls("client_isn").sort("source", "first_ns", "flow")
    again = known.filter(pl.struct("source", "client_isn").is_duplicated())
    found: list[tuple[dict[str, Any], dict[str, Any]]] = []
    seen: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in again.iter_rows(named=True):
        firsts = seen.setdefault((row["source"], row["client_isn"]), [])
        first = next((one for one in firsts if _same(one, row)), None)
        if first is None:
            firsts.append(row)
        else:
            found.append((row, first))
    return found


def _same(first: dict[str, Any], row: dict[str, Any]) -> bool:
    """Whether exactly one side has another address, and both began together."""
    sides = [
        all(first[name] == row[name] for name in (side, f"{side}_port"))
        for side in ("client", "server")
    ]
    return sum(sides) == 1 and row["first_ns"] - first["first_ns"] < TOGETHER_NS


def _stat(copy: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    client, server = ends(copy)
    return {
        "source": copy["source"],
        "name": Stat.FLOWS_TRANSLATED,
        "count": 1,
        "severity": "info",
        "detail": f"{client} to {server} is flow {first['flow']} with a translated address.",
    }
