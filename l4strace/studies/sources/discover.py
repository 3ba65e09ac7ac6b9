"""Which runs there are, and their parameters: a folder, a list, or a table."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from itertools import count
from pathlib import Path, PurePosixPath

import polars as pl

from l4strace.errors import InputError, L4straceError, UsageError
from l4strace.ingest.file_names import shown
from l4strace.ingest.files import CAPTURES, COMPRESSIONS, HOST_BESIDE, IPERF3, LOGS_BESIDE, unpacked
from l4strace.studies import parameters as values
from l4strace.studies import places
from l4strace.studies.parameters import Value, plain, rate_bps
from l4strace.studies.places import File
from l4strace.studies.planned import Options, Planned, fingerprint
from l4strace.studies.sources import (
    carried,
    elsewhere,
    manifest,
    names,
    notes,
    result_files,
    tables,
)

LOGS = (*LOGS_BESIDE, names.FLENT)
BARE_LOGS = tuple(ending[1:] for ending in LOGS)
"""`trace.txt` is the log of its folder's run."""
ROLE = re.compile(
    r"(?:^|[._-])(?:tcpdump_)?(?:cli|srv|clnt|client|server|sender|receiver|snd|rcv|router)"
    r"(?:_(?:cli|srv|client|server))?$",
    re.IGNORECASE,
)
"""What distinguishes the captures of both ends: `run.client.pcap`, `run_receiver.pcapng`."""
IPERF3_HEAD = 1 << 12
MOST_LIST_BYTES = 4 << 20
"""Most of a list, decompressed: 40,000 names of 100 characters."""
SHELL = re.compile(r"[\\'\"#]")
"""Characters that make a line more than words."""
LISTS = (".txt", ".list")
FILES = ("files", "file", "capture", "captures", "path")
"""Columns of a table that name the files of a run, separated by `;`."""
SOURCE = "source"
"""Parameter that states which of several sources a run is from."""


@dataclass(frozen=True)
class How:
    """How runs are recognized and what else their parameters come from."""

    name: str = ""
    """Pattern of names, as `--name` has it."""
    manifest: str = ""
    """File name of manifests, where it is not a usual one."""
    files: tuple[str, ...] = ()
    """Only files whose names match one of these patterns."""
    roles: elsewhere.Roles = field(default_factory=elsewhere.Roles)
    """Roles that the user gives to columns of tables: parameter, measure or repetition."""


@dataclass
class Found:
    """Runs to be measured, and tables of results made elsewhere."""

    planned: list[Planned]
    tables: list[dict[str, pl.DataFrame]]
    notes: list[str] = field(default_factory=list)
    """What was assumed, and what did not fit."""


@dataclass
class _Run:
    """A run while its files are gathered."""

    name: str
    files: list[File]
    parameters: dict[str, Value] = field(default_factory=dict)
    repetition: str | None = None
    error: str = ""
    """Why the run cannot be measured, when that is known before."""


KINDS = (
    "Name a folder of captures, a .csv or .json with the results of each run, or a .txt with one "
    "run per line."
)


def discover(sources: Sequence[str], how: How, options: Options) -> Found:
    """The runs of folders, lists and tables (paths or URLs), each under a name of its own.

    With several sources each run has the parameter `source`. Raises InputError for what cannot be
    read, UsageError where there is no run.
    """
    runs: list[_Run] = []
    held: list[tables.Read] = []
    by_name = names.pattern(how.name) if how.name else None
    for source, label in labels(sources).items():
        own, read = _of_source(source, label, how)
        for run in own if len(sources) > 1 else ():
            run.name = f"{label}/{run.name}"
            run.parameters = {SOURCE: label, **run.parameters}
        runs += own
        held += read
    made = tables.made(held, how.roles, by_name, several=len(sources) > 1)
    if not runs and not made.tables:
        raise UsageError(f"{', '.join(sources)}: no run found", KINDS)
    taken = {run for frames in made.tables for run in frames["runs"]["run"]}
    planned = [_finished(one, by_name, options) for one in _unique(runs, taken)]
    found = Found(planned, made.tables, made.notes)
    if by_name:
        found.notes += _fitting(by_name, [one.name for one in planned], made)
    found.notes += notes.of_parameters(
        [(one.name, one.parameters, one.repetition) for one in planned], made.tables
    )
    return found


def labels(sources: Sequence[str]) -> dict[str, str]:
    """Each source under the shortest end of its path that no other has: `patched`, `unpatched`.

    Raises UsageError for a source that is named twice.
    """
    found: dict[str, str] = {}
    for source in sources:
        if source in found:
            raise UsageError(f"{source}: named twice", "Name each source once.")
        found[source] = stem(source)
    parts = {one: [*one.rstrip("/").split("/")[:-1], label] for one, label in found.items()}
    alike = {label for label in found.values() if [*found.values()].count(label) > 1}
    for label in alike:
        same = [one for one in found if found[one] == label]
        length = 1
        while len({tuple(parts[one][-length:]) for one in same}) < len(same):
            length += 1
            if length > max(len(parts[one]) for one in same):
                raise UsageError(f"{' and '.join(same)}: one name", "Name each source once.")
        # `patched/results` and `unpatched/results` differ in what is before the name.
        for one in same:
            end = parts[one][-length:]
            found[one] = "/".join(end[:-1]) or label
    if len(set(found.values())) < len(found):
        found = {one: "/".join(parts[one]) for one in found}
    return found


def _of_source(source: str, label: str, how: How) -> tuple[list[_Run], list[tables.Read]]:
    """Runs to be measured, and results that were read."""
    if places.is_folder(source):
        if runs := _in_folder(source, how):
            return runs, []
        documents = [
            one
            for one in places.below(source)
            if result_files.is_one(one.path, result_files.DOCUMENTS)
            and (not how.files or _matches(one, how.files))
        ]
        return [], [tables.Read(one.path, label, result_files.read(one.path)) for one in documents]
    if result_files.plain_name(source).endswith(LISTS):
        return _of_list(source), []
    if not result_files.is_one(source):
        raise UsageError(f"{source}: neither a folder nor a table or list of runs", KINDS)
    results = result_files.read(source)
    if (files := _files_column(results.frame)) is not None:
        return _of_table(source, results.frame, files), []
    return [], [tables.Read(source, label, results)] if results.frame.height else []


def _fitting(by_name: elsewhere.ByName, planned: Sequence[str], made: tables.Made) -> list[str]:
    """A note on names that the pattern does not fit. Raises UsageError when it fits none."""
    of_runs = [*planned, *made.names]
    unfit = [one for one in of_runs if by_name(one) is None]
    if len(unfit) == len(of_runs):
        first = of_runs[0] if of_runs else ""
        raise UsageError(f"--name fits no run; the first one is called {first!r}", names.EXAMPLE)
    if not unfit:
        return []
    fits = len(of_runs) - len(unfit)
    return [f"--name fits {fits:,} of {len(of_runs):,} runs; not {notes.some(unfit)}"]


def _in_folder(root: str, how: How) -> list[_Run]:
    """Runs below a folder: one per manifest, else one per stem of file names."""
    folders: dict[str, list[File]] = {}
    for one in places.below(root):
        folders.setdefault(str(PurePosixPath(one.name).parent), []).append(one)
    runs: list[_Run] = []
    for folder, members in folders.items():
        place = "" if folder == "." else folder
        own = place or stem(root)
        whole = any(manifest.stem(_last(one), how.manifest) == "" for one in members)
        groups: dict[str, _Run] = {}
        for one in members:
            of = None if how.files and not _matches(one, how.files) else run_of(one)
            if of is not None:
                base = "" if whole else of
                name = "/".join(filter(None, (place, base))) or own
                groups.setdefault(base, _Run(name, [])).files.append(one)
        for one in members:
            described = manifest.stem(_last(one), how.manifest)
            if described is not None and (run := groups.get("" if whole else described)):
                _describe(run, one.path)
        runs += groups.values()
    return runs


def _describe(run: _Run, path: str) -> None:
    """Parameters from a manifest; one that cannot be read fails its run, not the sweep."""
    try:
        run.parameters, run.repetition = manifest.read(path)
    except L4straceError as error:
        run.error = str(error)


def run_of(one: File) -> str | None:
    """The stem of the run that a file belongs to, empty for its folder; null for other files."""
    name = _last(one)
    base = unpacked(name)
    if base in BARE_LOGS and not _is_iperf3(one):
        return ""
    for ending in (*CAPTURES, *LOGS, HOST_BESIDE):
        if base.endswith(ending):
            return ROLE.sub("", base.removesuffix(ending))
    if base.endswith(".json") and manifest.stem(name) is None and _is_iperf3(one):
        return ROLE.sub("", base.removesuffix(".json"))
    return None


def _is_iperf3(one: File) -> bool:
    return IPERF3.match(places.head(one.path, IPERF3_HEAD)) is not None


def _of_list(source: str) -> list[_Run]:
    """A run per line: its files, as words of a shell; `#` begins a comment."""
    runs = []
    text = places.text(source, MOST_LIST_BYTES).decode("utf-8", "surrogateescape")
    for number, line in enumerate(text.splitlines(), 1):
        try:
            # Few lines need the words of a shell, which take a hundred times as long.
            words = shlex.split(line, comments=True) if SHELL.search(line) else line.split()
        except ValueError as error:
            raise InputError(f"{source}: line {number}: {error}") from error
        if words:
            runs.append(_Run(stem(words[0]), [_beside(source, word) for word in words]))
    return runs


def _files_column(frame: pl.DataFrame) -> str | None:
    """The column that names files; without one a table holds results."""
    return next((name for name in frame.columns if name.lower() in FILES), None)


def _of_table(source: str, frame: pl.DataFrame, files: str) -> list[_Run]:
    """A run per row: its files, separated by `;`, and its parameters."""
    name = next((column for column in frame.columns if column.lower() in result_files.NAMES), None)
    runs = []
    for row in frame.iter_rows(named=True):
        words = [word.strip() for word in str(row.pop(files) or "").split(";") if word.strip()]
        given = row.pop(name) if name else None
        if not words:
            continue
        parameters = {key: value for key, v in row.items() if (value := plain(v)) is not None}
        label = str(given or stem(words[0]))
        runs.append(_Run(label, [_beside(source, word) for word in words], parameters))
    return runs


def _unique(runs: Sequence[_Run], taken: set[str]) -> list[_Run]:
    """``runs`` under names of their own: a second `run` becomes `run#2`, or the next number."""
    for run in runs:
        run.name = shown(run.name)
    given = taken | {run.name for run in runs}
    seen = set(taken)
    for run in runs:
        if run.name in seen:
            run.name = next(one for n in count(2) if (one := f"{run.name}#{n}") not in given)
            given.add(run.name)
        seen.add(run.name)
    return list(runs)


def _finished(run: _Run, by_name: elsewhere.ByName | None, options: Options) -> Planned:
    """The run with its fingerprint and all its parameters (a manifest wins, then the name)."""
    parameters = carried.parameters(run.files)
    parameters |= (by_name(run.name) if by_name else None) or {}
    parameters |= run.parameters
    (counted,) = values.taken([parameters])
    repetition = run.repetition if counted is None else counted
    known = [(one.name, one.size, one.version) for one in run.files]
    return Planned(
        run.name,
        tuple(one.path for one in run.files),
        parameters,
        repetition,
        fingerprint(known, options, rate_bps(parameters)),
        run.error,
    )


def _beside(source: str, word: str) -> File:
    """A file that a list or table names, relative to the place of that list.

    One that is missing stays: its run fails by itself and stops no other.
    """
    folder = source.rpartition("/")[0]
    absolute = places.is_url(word) or word.startswith("/") or not folder
    place = word if absolute else f"{folder}/{word}"
    try:
        return places.file(place)
    except (InputError, UsageError):
        return File(place, word, 0, "missing")


def _matches(one: File, patterns: Sequence[str]) -> bool:
    return any(fnmatch(_last(one), wanted) for wanted in patterns)


def _last(one: File) -> str:
    return one.name.rpartition("/")[2]


def stem(source: str) -> str:
    """`dir/extend.csv.gz` -> `extend`."""
    name = source.rstrip("/").rpartition("/")[2]
    if name in ("", ".", ".."):
        name = Path(source).resolve().name or "root"
    for ending in (
        *COMPRESSIONS,
        *result_files.TABLES,
        *result_files.DOCUMENTS,
        *LISTS,
        *CAPTURES,
        *LOGS,
    ):
        name = name.removesuffix(ending) or name
    return name
