"""Paths: flow directions followed packet by packet between two captures."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from l4strace.evidence import traffic
from l4strace.page.case import Case
from l4strace.schema.words import CAPTURES, CODEPOINTS
from l4strace.wording import paths as wording
from l4strace.wording.amounts import duration, number, share, typeset
from l4strace.wording.names import FANCY_ARROW, direction_name
from l4strace.wording.quantities import count

TITLE = "Between the captures"

MAX_ROWS = 20


class Transition(NamedTuple):
    """Packets that left with one codepoint and arrived with another (or the same)."""

    left: str
    arrived: str
    packets: str
    share: str
    kind: str
    """``kept``, ``marked`` (ECT to CE: what an AQM does) or ``changed`` (forbidden)."""


class PathRow(NamedTuple):
    """One direction between two captures."""

    flow: int
    key: str
    name: str
    near: str
    far: str
    matched: str
    lost: str
    appeared: str
    delay: str
    """Median and 99th percentile of the one-way delay above the smallest of all flows."""
    marked_delay: str
    """Median of the packets that were marked on the way."""
    transitions: tuple[Transition, ...]
    changes: tuple[str, ...]
    clock: str


class PathsSection(NamedTuple):
    """``absent`` is the reason for an empty section, or empty."""

    rows: tuple[PathRow, ...]
    summary: str
    left_out: str
    absent: str


def build(case: Case) -> PathsSection:
    """Directions with most matched packets first."""
    table = case.evidence.paths.filter(pl.col("matched") > 0)
    if not table.height:
        return PathsSection((), "", "", _absent(case))
    table = table.sort("matched", "flow", "forward", descending=[True, False, True])
    rows = tuple(_row(case, row) for row in table.head(MAX_ROWS).iter_rows(named=True))
    more = table.height - len(rows)
    left_out = (
        f"{count(more, 'more direction')} not shown (l4strace export paths)." if more > 0 else ""
    )
    return PathsSection(rows, typeset(" ".join(wording.statements(case.evidence))), left_out, "")


def _absent(case: Case) -> str:
    captures = case.evidence.sources.filter(pl.col("kind").is_in(CAPTURES)).height
    if not captures:
        return "No capture among the inputs: a log has no packets to follow."
    if captures < 2:
        return "One capture: only feedback and handshakes show what the path did to packets."
    if traffic(case.evidence).flows["flow"].is_unique().all():
        return "No flow was seen by more than one capture."
    return "No packet of one capture appears in another."


def _row(case: Case, row: dict[str, Any]) -> PathRow:
    here = (pl.col("flow") == row["flow"]) & (pl.col("source") == row["near"])
    flow = traffic(case.evidence).flows.filter(here).row(0, named=True)
    inputs = case.inputs
    offset = row["clock_offset_ns"]
    return PathRow(
        flow=row["flow"],
        key=case.anchor(row["flow"], row["forward"]),
        name=direction_name(flow, row["forward"], FANCY_ARROW),
        near=inputs[row["near"]],
        far=inputs[row["far"]],
        matched=number(row["matched"]),
        lost=number(row["lost"]),
        appeared=number(row["appeared"]),
        delay=f"{duration(row['owd_median_us'])} / {duration(row['owd_p99_us'])}",
        marked_delay=""
        if row["marked_owd_median_us"] is None
        else f"marked packets {duration(row['marked_owd_median_us'])}",
        transitions=_transitions(row),
        changes=_changes(row),
        clock="" if not offset else f"clock offset of {duration(offset / 1e3)} removed",
    )


def _transitions(row: dict[str, Any]) -> tuple[Transition, ...]:
    return tuple(
        Transition(left_name, arrived_name, number(count), share(count, row["matched"]), kind)
        for left, left_name in CODEPOINTS.items()
        for arrived, arrived_name in CODEPOINTS.items()
        if (count := row[f"{left}_to_{arrived}"])
        for kind in [_kind(left, arrived)]
    )


def _kind(left: str, arrived: str) -> str:
    if left == arrived:
        return "kept"
    return "marked" if arrived == "ce" and left != "not_ect" else "changed"


def _changes(row: dict[str, Any]) -> tuple[str, ...]:
    """What else changed on the path, and the first place to look."""
    facts = [
        f"{count(row[column], 'packet')} {what}"
        for column, what in (
            ("ace_changed", "arrived with AE, CWR or ECE changed"),
            ("option_stripped", "lost the AccECN option"),
            ("option_changed", "arrived with a changed AccECN option"),
            ("dscp_changed", "arrived with a changed DSCP"),
        )
        if row[column]
    ]
    if row["first_change_frame_near"]:
        near, far = row["first_change_frame_near"], row["first_change_frame_far"]
        facts.append(f"first changed codepoint: frame {near}, arrived as frame {far}")
    return tuple(facts)
