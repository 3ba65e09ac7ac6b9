"""A run to be measured, the options and limits of that work, and its outcome."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from l4strace.ingest.file_names import shown
from l4strace.studies.parameters import Value

Row = dict[str, Any]
Page = tuple[str, str]
"""Where the page of a run goes: the results, and a path in them."""


@dataclass(frozen=True)
class Options:
    """Options of all runs of a sweep; each of them changes the results."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True)
class Limits:
    """Limits on one run; they do not change the results of a run within them."""

    seconds: float = 600.0
    memory_bytes: int = 4 << 30


@dataclass(frozen=True)
class Planned:
    """One run: a unique name, its files (paths or URLs) and its parameters."""

    name: str
    files: tuple[str, ...]
    parameters: Mapping[str, Value] = field(default_factory=dict)
    repetition: str | None = None
    fingerprint: str = ""
    error: str = ""
    """Why the run cannot be measured, when that is known before, as of a broken manifest."""


@dataclass
class Result:
    """Rows of the five tables that one run gives; `run` without its parameters."""

    run: Row
    flows: list[Row] = field(default_factory=list)
    delays: list[Row] = field(default_factory=list)
    findings: list[Row] = field(default_factory=list)
    measures: list[Row] = field(default_factory=list)


def failed(planned: Planned, status: str, error: str) -> Result:
    """The one row of a run that gave nothing."""
    return Result(row(planned) | {"status": status, "error": error})


def row(planned: Planned) -> Row:
    """What the row of `runs` holds before the run is read."""
    return {
        "run": planned.name,
        "files": "\n".join(map(shown, planned.files)),
        "repetition": planned.repetition,
        "fingerprint": planned.fingerprint,
    }


@dataclass(frozen=True)
class Done:
    """The dataset as tables, and how much of it is new."""

    tables: dict[str, pl.DataFrame]
    measured: int
    """Runs that gave results now; those that failed are no part of it."""
    kept: int
    notes: tuple[str, ...] = ()
    """What was assumed of the runs, and what did not fit."""


def fingerprint(
    files: Sequence[tuple[str, int, str]], options: Options, extra: object = None
) -> str:
    """Changes with ``files`` (name, bytes, version: a time or an ETag), options and program."""
    text = json.dumps([files, options.select, options.ignore, extra, _program()])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:20]


@lru_cache(maxsize=1)
def _program() -> str:
    """Changes with every source file of the package, so that a newer one does the runs again."""
    package = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")) + sorted(package.glob("core/_native*.so")):
        if "target" not in path.parts:
            digest.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]
