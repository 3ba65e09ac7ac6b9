"""Paths: flow directions followed packet by packet between two captures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from l4strace.page.case import Case
from l4strace.schema.words import CAPTURES, CODEPOINTS
from l4strace.wording.names import counted, direction_name, duration, number, share

MAX_ROWS = 20


@dataclass(frozen=True)
class Transition:
    """Packets that left with one codepoint and arrived with another (or the same)."""

    left: str
    arrived: str
    count: str
    share: str
    kind: str
    """``kept``, ``marked`` (ECT to CE: what an AQM does) or ``changed`` (nobody may do that)."""


@dataclass(frozen=True)
class PathRow:
    """One direction between two captures."""

    flow: int
    key: str
    name: str
    near: str
    far: str
    matched: str
    lost: str
    appeared: str
    transitions: tuple[Transition, ...]
    changes: tuple[str, ...]
    clock: str


@dataclass(frozen=True)
class PathsSection:
    """``absent`` says why there is nothing to show, or is empty."""

    rows: tuple[PathRow, ...]
    left_out: str
    absent: str


def build(case: Case) -> PathsSection:
    """Directions with most matched packets first."""
    table = case.evidence.paths.filter(pl.col("matched") > 0)
    if not table.height:
        return PathsSection((), "", _absent(case))
    table = table.sort("matched", "flow", "forward", descending=[True, False, True])
    rows = tuple(_row(case, row) for row in table.head(MAX_ROWS).iter_rows(named=True))
    more = table.height - len(rows)
    left_out = (
        f"{counted(more, 'more direction')} not shown (l4strace export paths)." if more > 0 else ""
    )
    return PathsSection(rows, left_out, "")


def _absent(case: Case) -> str:
    captures = case.evidence.sources.filter(pl.col("kind").is_in(CAPTURES)).height
    if not captures:
        return "No capture among the inputs: only packets can be followed."
    if captures < 2:
        return "One capture: what the path did to packets shows only in feedback and handshakes."
    if case.evidence.flows.height == case.flow_count:
        return "No flow was seen by more than one capture."
    return "No packet of one capture was found again in another."


def _row(case: Case, row: dict[str, Any]) -> PathRow:
    here = (pl.col("flow") == row["flow"]) & (pl.col("source") == row["near"])
    flow = case.evidence.flows.filter(here).row(0, named=True)
    inputs = case.inputs
    offset = row["clock_offset_ns"]
    return PathRow(
        flow=row["flow"],
        key=case.anchor(row["flow"], row["forward"]),
        name=direction_name(flow, row["forward"]),
        near=inputs[row["near"]],
        far=inputs[row["far"]],
        matched=number(row["matched"]),
        lost=number(row["lost"]),
        appeared=number(row["appeared"]),
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
    """What else changed on the way, and the first place to look."""
    said = [
        f"{counted(row[column], 'packet')} {what}"
        for column, what in (
            ("ace_changed", "with AE, CWR or ECE changed"),
            ("option_stripped", "lost the AccECN option"),
            ("option_changed", "with a changed AccECN option"),
            ("dscp_changed", "with a changed DSCP"),
        )
        if row[column]
    ]
    if row["first_change_frame_near"]:
        near, far = row["first_change_frame_near"], row["first_change_frame_far"]
        said.append(f"first changed codepoint: frame {near}, arrived as frame {far}")
    return tuple(said)
