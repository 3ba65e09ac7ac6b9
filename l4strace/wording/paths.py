"""What the path did to packets between two captures, as facts and as one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from l4strace.schema.words import CODEPOINTS
from l4strace.wording.quantities import count

MARKS = ("ect1_to_ce", "ect0_to_ce")
"""What an AQM does."""
CHANGES = tuple(
    f"{left}_to_{arrived}"
    for left in CODEPOINTS
    for arrived in CODEPOINTS
    if left != arrived and f"{left}_to_{arrived}" not in MARKS
)
"""What no queue may do: Not-ECT marked, ECT swapped or erased, CE cleared."""

LARGE = 0.01
"""Share of the largest direction's packets from which one is listed even if nothing happened to it:
control connections are not. By eye."""


def marked(row: Mapping[str, Any]) -> int:
    """Packets that were marked between the captures."""
    return sum(row[name] or 0 for name in MARKS)


def changed(row: Mapping[str, Any]) -> int:
    """Packets whose codepoint changed in another way."""
    return sum(row[name] or 0 for name in CHANGES)


def with_data(paths: pl.DataFrame, directions: pl.DataFrame) -> pl.DataFrame:
    """Rows of `paths` that carried data worth a line, most matched packets first."""
    sending = directions.filter(pl.col("data_packets") > 0).select("flow", "forward").unique()
    carried = paths.filter(pl.col("matched") > 0).join(sending, on=["flow", "forward"], how="semi")
    large = pl.col("matched") >= LARGE * pl.col("matched").max()
    odd = pl.sum_horizontal("lost", *CHANGES) > 0
    return carried.filter(large | odd).sort(
        "matched", "flow", "forward", descending=[True, False, True]
    )


def sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """`241,501 packets at both ends: 0 lost, 0 re-marked, 4,339 marked.`, pure ACKs included."""
    seen = sum(row["matched"] for row in rows)
    lost, changes, marks = (
        sum(part(row) for row in rows) for part in (lambda row: row["lost"], changed, marked)
    )
    return (
        f"{count(seen, 'packet')} at both ends: {lost:,} lost, {changes:,} re-marked, "
        f"{marks:,} marked."
    )
