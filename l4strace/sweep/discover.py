"""Which runs there are, and their parameters: a folder, a list, or a table."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

import polars as pl

from l4strace.errors import InputError, UsageError
from l4strace.ingest.files import CAPTURES, COMPRESSIONS, HOST_BESIDE, IPERF3, LOGS_BESIDE
from l4strace.sweep import carried, elsewhere, manifest, names, places
from l4strace.sweep.parameters import Value, plain, rate_bps
from l4strace.sweep.places import File
from l4strace.sweep.planned import Options, Planned, fingerprint

LOGS = (*LOGS_BESIDE, ".flent")
BARE_LOGS = tuple(ending[1:] for ending in LOGS)
"""`trace.txt` is the log of its folder's run."""
ROLE = re.compile(
    r"(?:^|[._-])(?:tcpdump_)?(?:cli|srv|clnt|client|server|sender|receiver|snd|rcv|router)"
    r"(?:_(?:cli|srv|client|server))?$",
    re.IGNORECASE,
)
"""What distinguishes the captures of both ends: `run.client.pcap`, `run_receiver.pcapng`."""
IPERF3_HEAD = 1 << 12
TABLES = (".csv", ".tsv")
LISTS = (".txt", ".list")
FILES = ("files", "file", "capture", "captures", "path")
"""Columns of a table that name the files of a run, separated by `;`."""
NAMES = ("run", "name")


@dataclass(frozen=True)
class How:
    """How runs are recognized and what else their parameters come from."""

    name: str = ""
    """Pattern of names, as `--name` has it."""
    manifest: str = ""
    """File name of manifests, where it is not a usual one."""
    files: tuple[str, ...] = ()
    """Only files whose names match one of these patterns."""


@dataclass
class Found:
    """Runs to be measured, and tables of results made elsewhere."""

    planned: list[Planned]
    tables: list[dict[str, pl.DataFrame]]


@dataclass
class _Run:
    """A run while its files are gathered."""

    name: str
    files: list[File]
    parameters: dict[str, Value] = field(default_factory=dict)
    repetition: str | None = None


KINDS = "Name a folder of captures, a .csv with one row a run, or a .txt with one run per line."


def discover(sources: Sequence[str], how: How, options: Options) -> Found:
    """The runs of folders, lists and tables (paths or URLs), each under a name of its own.

    Raises InputError for what cannot be read, UsageError where there is no run.
    """
    runs: list[_Run] = []
    tables: list[dict[str, pl.DataFrame]] = []
    for source in sources:
        prefix = f"{stem(source)}/" if len(sources) > 1 else ""
        if places.is_folder(source):
            runs += _in_folder(source, prefix, how)
        elif _plain_name(source).endswith(LISTS):
            runs += _of_list(source, prefix)
        elif not _plain_name(source).endswith(TABLES):
            raise UsageError(f"{source}: neither a folder nor a table or list of runs", KINDS)
        elif (files := _files_column(frame := _table(source))) is not None:
            runs += _of_table(source, prefix, frame, files)
        elif frame.height:
            tables.append(elsewhere.tables(frame, prefix + stem(source)))
    if not runs and not tables:
        raise UsageError(f"{', '.join(sources)}: no run found", KINDS)
    by_name = names.pattern(how.name) if how.name else None
    planned = [_finished(one, by_name, options) for one in _unique(runs)]
    if by_name and not any(by_name(one.name) for one in planned):
        first = planned[0].name if planned else ""
        raise UsageError(f"--name fits no run; the first one is called {first!r}", names.EXAMPLE)
    return Found(planned, tables)


def _in_folder(root: str, prefix: str, how: How) -> list[_Run]:
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
                groups.setdefault(base, _Run(prefix + name, [])).files.append(one)
        for one in members:
            described = manifest.stem(_last(one), how.manifest)
            if described is not None and (run := groups.get("" if whole else described)):
                run.parameters, run.repetition = manifest.read(one.path)
        runs += groups.values()
    return runs


def run_of(one: File) -> str | None:
    """The stem of the run that a file belongs to, empty for its folder; null for other files."""
    name = _last(one)
    base = name
    for ending in COMPRESSIONS:
        base = base.removesuffix(ending)
    if base in BARE_LOGS:
        return ""
    for ending in (*CAPTURES, *LOGS, HOST_BESIDE):
        if base.endswith(ending):
            return ROLE.sub("", base.removesuffix(ending))
    if base.endswith(".json") and manifest.stem(name) is None and _is_iperf3(one):
        return ROLE.sub("", base.removesuffix(".json"))
    return None


def _is_iperf3(one: File) -> bool:
    return IPERF3.match(places.head(one.path, IPERF3_HEAD)) is not None


def _of_list(source: str, prefix: str) -> list[_Run]:
    """A run per line: its files, as words of a shell; `#` begins a comment."""
    runs = []
    for number, line in enumerate(places.read(source).decode("utf-8", "replace").splitlines(), 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise InputError(f"{source}: line {number}: {error}") from error
        if words:
            runs.append(_Run(prefix + stem(words[0]), [_beside(source, word) for word in words]))
    return runs


def _files_column(frame: pl.DataFrame) -> str | None:
    """The column that names files; without one a table holds results."""
    return next((name for name in frame.columns if name.lower() in FILES), None)


def _of_table(source: str, prefix: str, frame: pl.DataFrame, files: str) -> list[_Run]:
    """A run per row: its files, separated by `;`, and its parameters."""
    name = next((column for column in frame.columns if column.lower() in NAMES), None)
    runs = []
    for row in frame.iter_rows(named=True):
        words = [word.strip() for word in str(row.pop(files) or "").split(";") if word.strip()]
        given = row.pop(name) if name else None
        if not words:
            continue
        parameters = {key: value for key, v in row.items() if (value := plain(v)) is not None}
        label = prefix + str(given or stem(words[0]))
        runs.append(_Run(label, [_beside(source, word) for word in words], parameters))
    return runs


def _table(source: str) -> pl.DataFrame:
    separator = "\t" if _plain_name(source).endswith(".tsv") else ","
    try:
        return pl.read_csv(
            io.BytesIO(places.read(source)), separator=separator, infer_schema_length=None
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{source}: {str(error).splitlines()[0]}") from error


def _unique(runs: Sequence[_Run]) -> list[_Run]:
    """``runs`` under names of their own: a second `run` becomes `run#2`."""
    seen: dict[str, int] = {}
    for run in runs:
        seen[run.name] = number = seen.get(run.name, 0) + 1
        if number > 1:
            run.name = f"{run.name}#{number}"
    return list(runs)


def _finished(
    run: _Run, by_name: Callable[[str], dict[str, Value] | None] | None, options: Options
) -> Planned:
    """The run with its fingerprint and all its parameters (a manifest wins, then the name)."""
    parameters = carried.parameters(run.files)
    parameters |= (by_name(run.name) if by_name else None) or {}
    parameters |= run.parameters
    repetition = run.repetition
    for name in [name for name in parameters if manifest.REPETITION.fullmatch(name)]:
        repetition = str(parameters.pop(name))
    known = [(one.name, one.size, one.version) for one in run.files]
    return Planned(
        run.name,
        tuple(one.path for one in run.files),
        parameters,
        repetition,
        fingerprint(known, options, rate_bps(parameters)),
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
    except InputError:
        return File(place, word, 0, "missing")


def _matches(one: File, patterns: Sequence[str]) -> bool:
    return any(fnmatch(_last(one), wanted) for wanted in patterns)


def _last(one: File) -> str:
    return one.name.rpartition("/")[2]


def _plain_name(source: str) -> str:
    name = source.lower()
    for ending in COMPRESSIONS:
        name = name.removesuffix(ending)
    return name


def stem(source: str) -> str:
    """`dir/extend.csv.gz` -> `extend`."""
    name = source.rstrip("/").rpartition("/")[2]
    if name in ("", ".", ".."):
        name = Path(source).resolve().name or "root"
    for ending in (*COMPRESSIONS, *TABLES, *LISTS, *CAPTURES, *LOGS):
        name = name.removesuffix(ending) or name
    return name
