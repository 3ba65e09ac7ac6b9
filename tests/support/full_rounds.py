"""Rounds in which a path was full, by hand: the oracle of `full_bps` in `capacity.slots`."""

from __future__ import annotations

from typing import Any

import polars as pl

FULL_US, FULL_MARKS, PROBE_PACKETS = 1_000.0, 0.5, 8

Row = dict[str, Any]


def rates(parts: pl.DataFrame) -> pl.DataFrame:
    """`full_bps` by path (`at`) and slot; ``parts`` are those of rounds in slots of `in_polars`."""
    rounds = parts.unique(["of", "round"]).sort("flow", "of", "round")
    paths: dict[int, list[Row]] = {}
    for row in rounds.to_dicts():
        paths.setdefault(row["at"], []).append(row)
    found = []
    for at, rows in paths.items():
        longest: dict[int, Row] = {}
        for row in filter(_full, rows):
            slot = (row["end_ns"] - 1) // row["width"]
            if slot not in longest or row["queue_us"] > longest[slot]["queue_us"]:
                longest[slot] = row
        for slot, row in longest.items():
            delivered = sum(_within(other, row) for other in rows)
            found.append((at, slot, delivered * 8e9 / row["length"]))
    schema = {"at": parts["at"].dtype, "slot": pl.Int64(), "full_bps": pl.Float64()}
    return pl.DataFrame(found, schema, orient="row")


def _full(row: Row) -> bool:
    slots = (row["end_ns"] - 1) // row["width"] - row["start_ns"] // row["width"]
    return bool(
        (row["queue_us"] or 0.0) >= FULL_US
        and (row["acked_packets"] or 0) >= PROBE_PACKETS
        and row["marks"] >= FULL_MARKS * row["acked_packets"]
        and slots <= 1
        and not row["held"]
        and row["train_bps"] is not None
    )


def _within(row: Row, full: Row) -> float:
    """Bytes of a round that lie within another."""
    both = min(row["end_ns"], full["end_ns"]) - max(row["start_ns"], full["start_ns"])
    return float((row["acked_bytes"] or 0) * max(both, 0) / row["length"])
