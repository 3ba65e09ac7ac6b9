"""Files of results as tables of a sweep: those of one study joined, each column with its role."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from l4strace.errors import UsageError
from l4strace.studies.sources import elsewhere, notes
from l4strace.studies.sources.result_files import Results

SOURCE = "source"


@dataclass(frozen=True)
class Read:
    """One file of results, under the label of its source."""

    path: str
    label: str
    results: Results


@dataclass
class Made:
    """Tables of a sweep, what was assumed, and the names of runs that can carry parameters."""

    tables: list[dict[str, pl.DataFrame]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


def made(
    read: Sequence[Read], roles: elsewhere.Roles, by_name: elsewhere.ByName | None, *, several: bool
) -> Made:
    """The tables of all files. Raises UsageError for a column that no file has."""
    found = Made()
    joined = _joined(read)
    known = {name for one in joined for name in one.results.frame.columns}
    if missing := [name for name in roles.named if joined and name not in known]:
        raise UsageError(
            f"no table has a column {missing[0]!r}", f"Columns: {', '.join(sorted(known))}."
        )
    for one in joined:
        frame, units = elsewhere.numbers(one.results.frame, roles)
        if several and len(joined) > 1 and SOURCE not in frame.columns:
            frame = frame.with_columns(pl.lit(one.label).alias(SOURCE))
        columns = elsewhere.columns_of(frame, roles, units)
        found.tables.append(elsewhere.tables(frame, one.label, columns, by_name))
        found.names += frame[columns.name].to_list() if columns.name else []
        found.notes += [f"{one.label}: {note}" for note in (columns.note(), *one.results.notes)]
        found.notes += notes.repeated(frame, one.label)
    return found


def _joined(read: Sequence[Read]) -> list[Read]:
    """Files of single runs as rows of one table, and files of one study side by side."""
    singles = [one for one in read if one.results.single]
    rest = [one for one in read if not one.results.single]
    groups: dict[str, list[Read]] = {}
    for one in rest:
        folder = one.path.rpartition("/")[0]
        key = f"{folder}/{one.results.study}" if one.results.study else one.path
        groups.setdefault(key, []).append(one)
    found = [_side_by_side(group) for group in groups.values()]
    folders: dict[str, list[Read]] = {}
    for one in singles:
        folders.setdefault(one.path.rpartition("/")[0], []).append(one)
    return found + [_one_a_row(folder, group) for folder, group in folders.items()]


def _side_by_side(group: Sequence[Read]) -> Read:
    """Columns of several files by the names of the runs."""
    if len(group) == 1:
        return group[0]
    frame = group[0].results.frame
    for one in group[1:]:
        other = one.results.frame
        clash = [name for name in other.columns if name in frame.columns and name != "run"]
        if clash:
            raise UsageError(
                f"{one.path}: another file has numbers of the same runs called {clash[0]}",
                "Sweep them apart, or rename one.",
            )
        frame = frame.join(other, on="run", how="full", coalesce=True, maintain_order="left_right")
    said = list(dict.fromkeys(note for one in group for note in one.results.notes))
    return Read(group[0].path, group[0].results.study, Results(frame, said))


def _one_a_row(folder: str, group: Sequence[Read]) -> Read:
    """Single objects of one folder: a row each, named after its file."""
    frames = []
    for one in group:
        stem = one.path.rpartition("/")[2].partition(".json")[0]
        named = "run" in one.results.frame.columns or "name" in one.results.frame.columns
        row = one.results.frame
        frames.append(row if named else row.with_columns(run=pl.lit(stem)))
    said = list(dict.fromkeys(note for one in group for note in one.results.notes))
    frame = pl.concat(frames, how="diagonal_relaxed")
    label = group[0].label if len(group) == 1 else folder.rpartition("/")[2] or "results"
    return Read(group[0].path, label, Results(frame, said))
