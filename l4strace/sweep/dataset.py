"""The results of a sweep on disk: four tables as Apache Parquet, written as results come.

A folder holds one folder per table, and in these parts with the same numbers. The part of `runs` is
written last, so that a part counts when its `runs` exist; of a run in several parts the newest
counts. A process that is killed at any point leaves a dataset that can be read and continued. When
a sweep ends, everything is one part, sorted.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from l4strace.errors import InputError, UsageError
from l4strace.schema.sweep import RUNS, SWEEP_TABLES
from l4strace.sweep import places
from l4strace.sweep.parameters import PREFIX
from l4strace.sweep.planned import Result

ABOUT = "sweep.json"
"""Marks a folder as ours, and states what made it."""
FORMAT = "l4strace-sweep"
DONE = ("run", "status", "fingerprint")
CHILDREN = tuple(name for name in SWEEP_TABLES if name != RUNS.name)


@dataclass(frozen=True)
class Dataset:
    """A dataset at a path or URL."""

    place: str

    def begin(self, about: dict[str, Any]) -> None:
        """Claims the place. Raises UsageError when it holds something else."""
        here = places.names(self.place)
        if here and ABOUT not in here:
            raise UsageError(
                f"{self.place}: holds files that no sweep wrote", "Name another place with -o."
            )
        text = json.dumps({"format": FORMAT, "version": 1} | about, indent=2, sort_keys=True)
        places.write(self._path(ABOUT), text.encode() + b"\n")

    def about(self) -> dict[str, Any]:
        """Program and version that made the dataset. Raises InputError when it is not a dataset."""
        try:
            value = json.loads(places.read(self._path(ABOUT)))
        except (InputError, ValueError) as error:
            raise InputError(
                f"{self.place}: not a sweep (no {ABOUT})", "`l4strace sweep` makes one."
            ) from error
        return value if isinstance(value, dict) else {}

    def add(self, results: Iterable[Result]) -> None:
        """Keeps results as a new part."""
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SWEEP_TABLES}
        for result in results:
            rows["runs"].append(result.run)
            for name in CHILDREN:
                rows[name] += getattr(result, name)
        if rows["runs"]:
            self._write({name: _frame(name, rows[name]) for name in SWEEP_TABLES})

    def add_tables(self, tables: dict[str, pl.DataFrame]) -> None:
        """Keeps whole tables as a new part."""
        self._write({n: tables.get(n, t.empty()) for n, t in SWEEP_TABLES.items()})

    def done(self, *, retry: bool = False) -> dict[str, str]:
        """Fingerprint of each run that has a row; with ``retry`` only of those that are `ok`."""
        found: dict[str, str] = {}
        for number in self._parts():
            for run, status, mark in self._read("runs", number).select(DONE).iter_rows():
                found[run] = "" if retry and status != "ok" else mark or ""
        return found

    def tables(self) -> dict[str, pl.DataFrame]:
        """All four tables; of a run in several parts the newest rows."""
        found: dict[str, list[pl.DataFrame]] = {name: [] for name in SWEEP_TABLES}
        taken: set[str] = set()
        for number in reversed(self._parts()):
            runs = self._read("runs", number).filter(~pl.col("run").is_in(taken))
            found["runs"].append(runs)
            for name in CHILDREN:
                rows = self._read(name, number)
                found[name].append(rows.join(runs.select("run"), on="run", how="semi"))
            taken |= set(runs["run"])
        return {
            name: pl.concat(parts, how="diagonal_relaxed") if parts else SWEEP_TABLES[name].empty()
            for name, parts in found.items()
        }

    def finish(self, parameters: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Makes everything one sorted part: the runs of ``parameters``, with these. Returns it."""
        tables = self.tables()
        runs = RUNS.conform(tables["runs"]).join(parameters, on="run", how="inner")
        tables = {
            name: table.join(runs.select("run"), on="run", how="semi").sort(SWEEP_TABLES[name].key)
            for name, table in tables.items()
        } | {"runs": runs.sort("run")}
        old = self._parts()
        self._write(tables)
        self.tidy(old)
        return tables

    def tidy(self, parts: Iterable[int] = ()) -> None:
        """Removes ``parts``, and pieces of parts that were never finished."""
        for number in parts:
            places.remove(self._part("runs", number))
        kept = set(self._parts())
        for table in CHILDREN:
            for name in places.names(self._path(table)):
                if _number(name) not in kept:
                    places.remove(self._path(table, name))

    def _parts(self) -> list[int]:
        """Numbers of the finished parts, oldest first."""
        numbers = map(_number, places.names(self._path("runs")))
        return sorted(number for number in numbers if number is not None)

    def _write(self, tables: dict[str, pl.DataFrame]) -> None:
        number = max(self._parts(), default=0) + 1
        for name in (*CHILDREN, "runs"):
            buffer = io.BytesIO()
            tables[name].write_parquet(buffer, compression="zstd")
            places.write(self._part(name, number), buffer.getvalue())

    def _read(self, table: str, number: int) -> pl.DataFrame:
        path = self._part(table, number)
        try:
            return pl.read_parquet(io.BytesIO(places.read(path)))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise InputError(f"{path}: {str(error).splitlines()[0]}") from error

    def _part(self, table: str, number: int) -> str:
        return self._path(table, f"{number:06d}.parquet")

    def _path(self, *names: str) -> str:
        return "/".join((self.place.rstrip("/"), *names))


def parameters_of(runs: pl.DataFrame) -> list[str]:
    """Names of the parameters in a table `runs`, without their prefix."""
    return [name.removeprefix(PREFIX) for name in runs.columns if name.startswith(PREFIX)]


def _frame(table: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    declared = SWEEP_TABLES[table]
    return (
        declared.conform(pl.DataFrame(rows, schema=declared.schema)) if rows else declared.empty()
    )


def _number(name: str) -> int | None:
    stem = name.removesuffix(".parquet")
    return int(stem) if stem.isdigit() and stem != name else None
