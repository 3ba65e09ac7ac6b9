"""The results of a sweep on disk: five tables as Apache Parquet, written as results come.

A folder holds one folder per table, and in these parts with the same numbers. The part of `runs` is
written last, so that a part counts when its `runs` exist; of a run in several parts the newest
counts. A process that is killed at any point leaves a dataset that can be read and continued. When
a sweep ends, everything is one part, sorted.

`sweep.json` states the number of each part before it is written: these are the sweep's to read, and
to remove. Any other file stays, and is not replaced.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from l4strace.errors import InputError, UsageError, reason
from l4strace.ingest import untrusted
from l4strace.ingest.file_names import shown
from l4strace.schema.sweep import RUNS, SWEEP_DELAYS, SWEEP_TABLES
from l4strace.schema.table import Table
from l4strace.studies import places
from l4strace.studies.parameters import PREFIX
from l4strace.studies.planned import Result
from l4strace.studies.store import PART, Store

ABOUT = "sweep.json"
"""Marks a folder as ours, and states what made it."""
FORMAT = "l4strace-sweep"
BEGINNING = f'{{\n  "format": "{FORMAT}"'.encode()
"""First bytes of `sweep.json`, by which its first piece is known."""
DONE = ("run", "status", "fingerprint")
CHILDREN = tuple(name for name in SWEEP_TABLES if name != RUNS.name)
FILE = re.compile(rf"([0-9]{{6}}|[1-9][0-9]{{6,8}})\.parquet(?:{re.escape(PART)})?")
"""Name of a part, or of a piece of one."""
MOST_CELLS = 20_000_000
"""Cells of one table: those of 40,000 runs, and half a gigabyte where all are texts."""
ANOTHER = "Name another place with -o."
MAKES = "`l4strace sweep` makes one."


@dataclass(frozen=True)
class Dataset:
    """A dataset at a path or URL."""

    place: str

    @property
    def _store(self) -> Store:
        return Store(self.place)

    def names(self) -> list[str]:
        """Names of what lies there."""
        return self._store.names()

    def begin(self, about: dict[str, Any]) -> None:
        """Claims the place. Raises UsageError when it holds something else."""
        here = self.names()
        parts: set[int] = set()
        if ABOUT in here:
            parts = self._claimed()
        elif here and not self._just_begun(here):
            raise UsageError(f"{self.place}: holds files that no sweep wrote", ANOTHER)
        self._write_about(about, parts)

    def _claimed(self) -> set[int]:
        """Numbers of the parts. Raises UsageError where the index is not this user's."""
        try:
            about = self.about()
        except InputError as error:
            raise UsageError(str(error), ANOTHER) from error
        if not self._store.owned(ABOUT):
            raise UsageError(f"{self.place}: another user's sweep", ANOTHER)
        return self._named(about)

    def _named(self, about: dict[str, Any]) -> set[int]:
        """Numbers of the parts that ``about`` names."""
        parts = about.get("parts")
        if isinstance(parts, list):
            return {number for part in parts if (number := untrusted.whole(part)) is not None}
        # Sweeps of version 1 did not name them; those that are complete are theirs.
        return set(_whole(self._store.names("runs")))

    def _just_begun(self, here: list[str]) -> bool:
        """Whether a sweep was killed as it wrote its index, which is the first file."""
        if here != [ABOUT + PART] or not self._store.owned(ABOUT + PART):
            return False
        content = self._store.read(ABOUT + PART)
        return content.startswith(BEGINNING) or BEGINNING.startswith(content)

    def _write_about(self, about: dict[str, Any], parts: Iterable[int]) -> None:
        stated = {"format": FORMAT, "version": 2, "parts": sorted(parts)}
        text = json.dumps(about | stated, indent=2, sort_keys=True)
        self._store.write(ABOUT, text.encode() + b"\n")

    def about(self) -> dict[str, Any]:
        """Program and version that made the dataset. Raises InputError when it is not a dataset."""
        try:
            value = untrusted.parsed(self._store.read(ABOUT))
        except (InputError, ValueError) as error:
            raise InputError(f"{self.place}: not a sweep (no {ABOUT})", MAKES) from error
        if untrusted.mapping(value).get("format") != FORMAT:
            raise InputError(f"{self.place}: not a sweep ({ABOUT} is of something else)", MAKES)
        return untrusted.mapping(value)

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
        """All five tables; of a run in several parts the newest rows."""
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
            self._store.remove(_part("runs", number))
        about, kept = self.about(), set(self._parts())
        named = self._named(about)
        for table in SWEEP_TABLES:
            for name in self._store.names(table):
                part = _number(name)
                if part in named and (part not in kept or name.endswith(PART)):
                    self._store.remove(f"{table}/{name}")
        if named != kept:
            self._write_about(about, kept)

    def _parts(self) -> list[int]:
        """Numbers of the finished parts, oldest first."""
        return sorted(self._named(self.about()).intersection(_whole(self._store.names("runs"))))

    def _write(self, tables: dict[str, pl.DataFrame]) -> None:
        about = self.about()
        taken = {_number(name) or 0 for table in SWEEP_TABLES for name in self._store.names(table)}
        named = self._named(about)
        number = max(named | taken, default=0) + 1
        self._write_about(about, named | {number})
        for name in (*CHILDREN, "runs"):
            buffer = io.BytesIO()
            tables[name].write_parquet(buffer, compression="zstd")
            self._store.write(_part(name, number), buffer.getvalue())

    def _read(self, table: str, number: int) -> pl.DataFrame:
        part = _part(table, number)
        # Sweeps of versions before this one did not keep distributions.
        if table == SWEEP_DELAYS.name and part.rpartition("/")[2] not in self._store.names(table):
            return SWEEP_DELAYS.empty()
        try:
            return _checked(SWEEP_TABLES[table], table_of(self._store.read(part)))
        except (pl.exceptions.PolarsError, OSError, ValueError) as error:
            raise InputError(f"{self.place}/{part}: {shown(reason(error))}") from error


def lying_at(place: str) -> Dataset | None:
    """The dataset at a place, to be read: a link to one will do. Null when none lies there."""
    dataset = Dataset(place if places.is_url(place) else os.path.realpath(place))
    return dataset if places.is_folder(place) and ABOUT in dataset.names() else None


def table_of(content: bytes) -> pl.DataFrame:
    """A table from Parquet. Raises ValueError for more than `MOST_CELLS`, and for damage."""
    file = io.BytesIO(content)
    try:
        rows = pl.scan_parquet(file).select(pl.len()).collect().item()
        if rows * len(pl.read_parquet_schema(file)) > MOST_CELLS:
            raise ValueError(f"more than {MOST_CELLS:,} cells")
        return pl.read_parquet(file)
    except pl.exceptions.PanicException as error:  # Footers that polars does not check.
        raise ValueError(f"damaged Parquet ({error})") from error


def parameters_of(runs: pl.DataFrame) -> list[str]:
    """Names of the parameters in a table `runs`, without their prefix."""
    return [name.removeprefix(PREFIX) for name in runs.columns if name.startswith(PREFIX)]


def _frame(table: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    declared = SWEEP_TABLES[table]
    return (
        declared.conform(pl.DataFrame(rows, schema=declared.schema)) if rows else declared.empty()
    )


def _checked(declared: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` as declared, with its parameters; rows that name no run are left out."""
    parameters = [
        name
        for name, dtype in frame.schema.items()
        if declared is RUNS and name.startswith(PREFIX) and _is_scalar(dtype)
    ]
    whole = pl.concat([declared.conform(frame), frame.select(parameters)], how="horizontal")
    return whole.drop_nulls("run")


def _is_scalar(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype in (pl.String, pl.Boolean)


def _part(table: str, number: int) -> str:
    return f"{table}/{number:06d}.parquet"


def _whole(names: Iterable[str]) -> list[int]:
    """Numbers of the parts among ``names``, without pieces of them."""
    return [number for n in names if (number := _number(n)) is not None and not n.endswith(PART)]


def _number(name: str) -> int | None:
    found = FILE.fullmatch(name)
    return int(found[1]) if found else None
