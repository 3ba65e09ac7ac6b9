"""Inputs that have nothing to do with each other: one run each, judged apart.

A verdict over Monday's and Tuesday's capture would compare flows that never met. Inputs are of one
run when they show a flow in common, overlap in time, or have one stem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import combinations
from pathlib import PurePath
from typing import Any, TypeVar

import polars as pl

from l4strace.evidence import Capture
from l4strace.ingest.files import stem
from l4strace.ingest.join import controls
from l4strace.schema.words import CAPTURES
from l4strace.wording.moments import NANO

C = TypeVar("C", bound=Capture)

GAP_NS = NANO
"""Files of a recorder that begins a new one every so often lie closer than this. By eye."""


def runs(capture: Capture) -> list[Capture]:
    """``capture`` as one value for each run, in the order of the inputs; numbers do not change."""
    captures = capture.sources.filter(pl.col("kind").is_in(CAPTURES))
    if captures.height < 2:
        return [capture]
    groups = _groups(capture)
    return [capture] if len(groups) == 1 else [_part(capture, group) for group in groups]


def together(runs: Sequence[C]) -> C:
    """Tables that hold the rows of all ``runs``, one run after the other."""
    first, *others = runs
    if not others:
        return first
    tables = {
        field.name: pl.concat([getattr(run, field.name) for run in runs])
        for field in fields(first)
        if isinstance(getattr(first, field.name), pl.DataFrame)
    }
    return replace(first, **tables)


def _groups(capture: Capture) -> list[list[int]]:
    """Numbers of the sources of each run."""
    rows = capture.sources.rows(named=True)
    group = {row["source"]: row["source"] for row in rows}

    def join(one: int, other: int) -> None:
        kept, gone = sorted((group[one], group[other]))
        group.update({source: kept for source, place in group.items() if place == gone})

    for row, later in combinations(rows, 2):
        if _together(row, later):
            join(row["source"], later["source"])
    for first, *others in _by_flow(capture):
        for other in others:
            join(first, other)
    members: dict[int, list[int]] = {}
    for source, place in group.items():
        members.setdefault(place, []).append(source)
    return list(members.values())


def _together(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two rows of `sources` overlap in time or belong together by name.

    An input without any record belongs to all.
    """
    times = (one["first_ns"], one["last_ns"], other["first_ns"], other["last_ns"])
    if None in times:
        return True
    begin = max(one["first_ns"], other["first_ns"])
    end = min(one["last_ns"], other["last_ns"])
    if begin <= end + GAP_NS:
        return True
    return _named(one["path"]) == _named(other["path"])


def _named(path: str) -> PurePath:
    return PurePath(path).parent / stem(path)


def _by_flow(capture: Capture) -> list[list[int]]:
    """Sources that show the same flow, each set of them once."""
    tables = (capture.flows, capture.udp_flows, capture.kernel, capture.udp_kernel)
    seen = pl.concat([table.select("source", "flow") for table in tables])
    together = (
        seen.drop_nulls().unique().group_by("flow").agg(pl.col("source").sort())["source"].unique()
    )
    return [sources for sources in together.to_list() if len(sources) > 1]


def _part(capture: Capture, sources: list[int]) -> Capture:
    """The run of these sources. A host file belongs to the run with its stem, else to all."""
    ours = pl.col("source").is_in(sources)
    own = capture.sources.filter(ours)
    stems = {_named(path) for path in capture.sources["path"]}
    mine = {_named(path) for path in own["path"]}
    part = replace(
        capture,
        sources=own,
        flows=capture.flows.filter(ours),
        directions=capture.directions.filter(ours),
        udp_flows=capture.udp_flows.filter(ours),
        udp_directions=capture.udp_directions.filter(ours),
        udp_kernel=capture.udp_kernel.filter(ours),
        udp_rounds=capture.udp_rounds.filter(ours),
        udp_round_trips=capture.udp_round_trips.filter(ours),
        rounds=capture.rounds.filter(ours),
        kernel=capture.kernel.filter(ours),
        stats=capture.stats.filter(ours),
        qdiscs=capture.qdiscs.filter(ours),
        paths=capture.paths.filter(pl.col("near").is_in(sources)),
        host_files=tuple(
            host
            for host in capture.host_files
            if _named(host["path"]) in mine or _named(host["path"]) not in stems
        ),
        aggregates=capture.aggregates if "bpftrace" in own["kind"] else {},
    )
    # The host file of another run may list the same ports.
    return controls.named(part)
