"""The two sides of a comparison, each as the tables of a sweep."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from l4strace.comparison.conditions import met
from l4strace.errors import UsageError
from l4strace.studies import places, study
from l4strace.studies.cells import Tables
from l4strace.studies.dataset import lying_at, parameters_of
from l4strace.studies.parameters import PREFIX
from l4strace.studies.pool import Measure

BY = "Example: l4strace compare results --by kernel --of unpatched,patched"


@dataclass(frozen=True)
class Sides:
    """Both sides: ``by`` is the parameter that distinguishes them, empty for two places."""

    before: Tables
    after: Tables
    names: tuple[str, str]
    by: str = ""


def of_parameter(tables: Tables, by: str, of: Sequence[str]) -> Sides:
    """Two values of one parameter of one sweep; a part of a value that names only one will do.

    Raises UsageError for a parameter or value that no run has.
    """
    runs = tables["runs"]
    if by not in parameters_of(runs):
        raise UsageError(
            f"no parameter {by!r}", f"Parameters: {', '.join(parameters_of(runs)) or 'none'}."
        )
    values = [str(value) for value in runs[PREFIX + by].drop_nulls().unique().sort()]
    if len(of) != 2:
        raise UsageError("--of takes two values", f"{by} has: {', '.join(values)}.")
    first, second = (_value(by, values, wanted) for wanted in of)
    if first == second:
        raise UsageError(f"both sides are {by} {first}", f"{by} has: {', '.join(values)}.")
    column = pl.col(PREFIX + by).cast(pl.String)
    before, after = (_part(tables, column == value) for value in (first, second))
    return Sides(before, after, (first, second), by)


def of_places(before: str, after: str, measure: Measure) -> Sides:
    """Two sweeps, two folders of runs, or two runs; what is not a sweep is measured now."""
    names = (before, after)
    tables = [load(place, measure) for place in names]
    return Sides(tables[0], tables[1], names)


def load(place: str, measure: Measure) -> Tables:
    """The tables of a sweep, or of runs that are measured now and not kept."""
    if (dataset := lying_at(place)) is not None:
        dataset.about()
        return dataset.tables()
    with tempfile.TemporaryDirectory(prefix="l4strace-compare-") as folder:
        source = place
        if is_capture(place):
            source = str(Path(folder, "run.txt"))
            Path(source).write_text(
                _quoted(place) + "\n", encoding="utf-8", errors="surrogateescape"
            )
        order = study.Order((source,), str(Path(folder, "results")), page=False)
        return study.sweep(order, measure).tables


def is_capture(place: str) -> bool:
    """Whether the place is one file of a run, neither folder, table nor list."""
    lists = (".csv", ".csv.gz", ".tsv", ".txt")
    return not places.is_folder(place) and not place.lower().endswith(lists)


def where(tables: Tables, conditions: Sequence[str]) -> Tables:
    """The runs that meet all ``conditions`` (`conditions.met`). Raises UsageError."""
    for condition in conditions:
        tables = _part(tables, met(condition, tables["runs"]))
    return tables


def _part(tables: Tables, condition: pl.Expr) -> Tables:
    runs = tables["runs"].filter(condition)
    return {
        name: runs if name == "runs" else table.join(runs.select("run"), on="run", how="semi")
        for name, table in tables.items()
    }


def _value(by: str, values: Sequence[str], wanted: str) -> str:
    """The value that is ``wanted``, or the only one that contains it."""
    if wanted in values:
        return wanted
    fitting = [value for value in values if wanted in value]
    if len(fitting) != 1:
        which = "names several values" if fitting else "is not a value"
        raise UsageError(f"{wanted!r} {which} of {by}", f"{by} has: {', '.join(values)}.")
    return fitting[0]


def _quoted(path: str) -> str:
    import shlex

    return shlex.quote(str(Path(path).absolute()))
