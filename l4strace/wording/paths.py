"""What the path did to packets between two captures, as facts and as one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from l4strace.evidence import Capture
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

LISTED_SHARE = 0.01
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
    large = pl.col("matched") >= LISTED_SHARE * pl.col("matched").max()
    odd = pl.sum_horizontal("lost", *CHANGES) > 0
    return carried.filter(large | odd).sort(
        "matched", "flow", "forward", descending=[True, False, True]
    )


def sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """`241,501 packets at both ends: 0 lost, 0 re-marked, 4,339 marked.`, pure ACKs included."""
    # A third capture between the ends matches each packet twice.
    matched: dict[tuple[int, bool], int] = {}
    for row in rows:
        way = row["flow"], row["forward"]
        matched[way] = min(row["matched"], matched.get(way, row["matched"]))
    seen = sum(matched.values())
    changes, marks = (sum(map(part, rows)) for part in (changed, marked))
    lost = [row["lost"] for row in rows]
    # Null where segmentation or receive offload shows several datagrams as one.
    losses = "losses unknown" if None in lost else f"{sum(lost):,} lost"
    return (
        f"{count(seen, 'packet')} at both ends: {losses}, {changes:,} re-marked, {marks:,} marked."
    )


def statements(capture: Capture) -> list[str]:
    """What two captures show to be right, after the sentence above; nothing with one capture.

    A statement covers every direction that both ends saw; one exception, and it is not made: the
    rules name the fault.
    """
    rows = capture.paths.filter(pl.col("matched") > 0)
    if rows.is_empty():
        return []
    facts = (
        sentence(rows.to_dicts()),
        _feedback_kept(capture, rows),
        _marks_reported(capture, rows),
    )
    return [fact for fact in facts if fact]


def _feedback_kept(capture: Capture, rows: pl.DataFrame) -> str:
    """The fields that carry AccECN passed the path as they were sent."""
    if capture.flows.filter(pl.col("mode") == "accecn").is_empty():
        return ""
    faults = rows.select(pl.col("ace_changed", "option_stripped", "option_changed").sum()).row(0)
    if any(faults):
        return ""
    return "AE, CWR and ECE arrived as sent in every packet, and so did every AccECN option."


def _marks_reported(capture: Capture, rows: pl.DataFrame) -> str:
    """The sender's feedback against the CE packets that arrived at the far end."""
    sent = capture.directions.select(
        "flow", "forward", "ce_fed_back_lo", "ce_fed_back_hi", near="source"
    )
    arrived = capture.directions.select("flow", "forward", "ce", far="source")
    accecn = capture.flows.filter(pl.col("mode") == "accecn").select("flow", near="source")
    both = (
        rows.join(accecn, on=["flow", "near"], how="semi")
        .join(sent, on=["flow", "forward", "near"])
        .join(arrived, on=["flow", "forward", "far"])
        .filter(pl.col("ce_fed_back_lo").is_not_null() & (pl.col("ce") > 0))
    )
    fits = pl.col("ce").is_between("ce_fed_back_lo", "ce_fed_back_hi")
    if both.is_empty() or not both.select(fits.all()).item():
        return ""
    marks = count(int(both["ce"].sum()), "CE packet")
    return f"The feedback accounts for all {marks} that arrived on AccECN flows."
