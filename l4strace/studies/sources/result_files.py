"""Files with the results of many runs: tables in the dialects of spreadsheets, and JSON.

JSON is one object a run, a list of runs, or an object whose keys are names of runs. Whatever is
left out or assumed on the way becomes a note.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from l4strace.errors import InputError, reason
from l4strace.ingest import file_names, untrusted
from l4strace.ingest.files import unpacked
from l4strace.studies import places
from l4strace.studies.parameters import MOST_PARAMETERS, Value, column, plain
from l4strace.wording.spreadsheet import read_back

TABLES = (".csv", ".tsv")
DOCUMENTS = (".json", ".ndjson", ".jsonl")
SEPARATORS = (",", ";", "\t", "|")
DECIMAL = re.compile(r"\s*-?\d+(?:,\d+)?(?:[eE][+-]?\d+)?\s*")
NAMES = ("run", "name")
"""Columns that name a run."""
LABELS = ("cca", "cc", "congestion", "label", "name", "flow", "id")
"""Keys that name one object of a list, such as a flow of a run."""
MOST_DEPTH = 6
MOST_BYTES, MOST_ROWS, MOST_COLUMNS = 64 << 20, 200_000, 2000
"""Decompressed; the 10,248 rows of the fallback study take 1.5 MB."""
CONTROL = re.compile(
    r"(prague|dctcp|cubic|new_?reno|reno|bbr(?:v?\d)?|scream|l4s|classic)[-_]", re.I
)
"""Congestion control that opens the name of a number, as in `prague_2.0_100_10_DualPI2_5_1`."""
KIND = re.compile(r"[-_.]?(?P<kind>tput|throughput|goodput|srtt|rtt)(?:[-_.].*)?$", re.I)
"""What the numbers of a file are, from its name: `cubic_ecn_tput_tx_L4S.json`."""
ASSUMED = {"tput": "mbps", "throughput": "mbps", "goodput": "mbps", "srtt": "ms", "rtt": "ms"}
"""Units of numbers under names, where no column can state one."""


@dataclass
class Results:
    """One row a run, and what was assumed or left out."""

    frame: pl.DataFrame
    notes: list[str] = field(default_factory=list)
    single: bool = False
    """The file is one object, hence one run."""
    study: str = ""
    """Name that files have in common which hold different numbers of the same runs."""


def is_one(source: str, endings: Sequence[str] = (*TABLES, *DOCUMENTS)) -> bool:
    """Whether the name is that of a file of results."""
    return plain_name(source).endswith(tuple(endings))


def read(source: str) -> Results:
    """The rows of a table or JSON file. Raises InputError for what cannot be parsed."""
    if is_one(source, DOCUMENTS):
        return _document(source)
    return _table(source)


def plain_name(source: str) -> str:
    """The name in lower case, without the ending of a compression."""
    return unpacked(source.lower())


def _table(source: str) -> Results:
    content = places.text(source, MOST_BYTES)
    separator = "\t" if plain_name(source).endswith(".tsv") else _separator(content)
    frame = _frame(source, content, separator)
    notes = []
    if separator == ";":
        commas = [name for name in frame.columns if _has_decimal_commas(frame[name])]
        frame = frame.with_columns(map(_with_points, commas))
        if commas:
            notes.append(f"decimal commas in {', '.join(commas)}")
    return Results(frame.rename(str.strip), notes)


def _frame(source: str, content: bytes, separator: str) -> pl.DataFrame:
    columns = content.partition(b"\n")[0].count(separator.encode()) + 1
    for most, number, what in (
        (MOST_COLUMNS, columns, "columns"),
        (MOST_ROWS, content.count(b"\n"), "rows"),
    ):
        if number > most:
            raise InputError(f"{source}: more than {most:,} {what}")
    for inferred in (True, False):
        try:
            # Numbers that no type holds are texts, as are those beside them.
            frame = pl.read_csv(
                io.BytesIO(content), separator=separator, infer_schema_length=None,
                infer_schema=inferred,
            )  # fmt: skip
            return frame.with_columns(
                pl.col(pl.Int128).cast(pl.Float64), read_back(pl.col(pl.String))
            )
        except (pl.exceptions.PolarsError, OSError, ValueError) as error:
            why = file_names.shown(reason(error))
    raise InputError(f"{source}: {why}")


def _separator(content: bytes) -> str:
    """The separator that the header has most."""
    header = content.partition(b"\n")[0].decode("utf-8", "replace")
    counts = Counter(character for character in header if character in SEPARATORS)
    return max(SEPARATORS, key=lambda one: counts[one])


def _has_decimal_commas(values: pl.Series) -> bool:
    if values.dtype != pl.String or values.null_count() == len(values):
        return False
    present = values.drop_nulls()
    return present.str.contains(",").any() and all(map(DECIMAL.fullmatch, present))


def _with_points(name: str) -> pl.Expr:
    text = pl.col(name).str.strip_chars().str.replace(",", ".", literal=True)
    return text.cast(pl.Float64)


def _document(source: str) -> Results:
    """The runs of a JSON file."""
    value = _parsed(source)
    if isinstance(value, Mapping) and _are_numbers_under_names(value):
        return _under_names(source, value)
    rows, single = _runs(value)
    made = Results(pl.DataFrame(), single=single)
    flattened = []
    for row in rows:
        found: dict[str, Value] = {}
        series = _flatten(row, "", found, 0)
        flattened.append(found)
        made.notes += [f"series {name} left out" for name in series]
    made.notes = list(dict.fromkeys(made.notes))
    names = dict.fromkeys(name for row in flattened for name in row)
    columns = [column(name, [row.get(name) for row in flattened]) for name in names]
    made.frame = pl.DataFrame(columns)
    return made


def _parsed(source: str) -> Any:
    content = places.text(source, MOST_BYTES)
    try:
        if plain_name(source).endswith(".json"):
            return untrusted.parsed(content)
        return [untrusted.parsed(line) for line in content.splitlines() if line.strip()]
    except ValueError as error:
        raise InputError(f"{source}: {reason(error)}") from error


def _runs(value: Any) -> tuple[list[dict[str, Any]], bool]:
    """Objects of runs in ``value``, and whether it is a single run."""
    if isinstance(value, list):
        return [one for one in value if isinstance(one, dict)], False
    if not isinstance(value, Mapping):
        return [], False
    if len(value) > 1 and _alike(list(value.values())):
        return [{"run": name} | dict(one) for name, one in value.items()], False
    lists = [name for name, one in value.items() if _alike(one) and _are_runs(name)]
    if len(lists) == 1:
        rest = {name: one for name, one in value.items() if name != lists[0]}
        return [rest | dict(one) for one in value[lists[0]]], False
    return [dict(value)], True


def _are_numbers_under_names(value: Mapping[str, Any]) -> bool:
    """Whether keys carry parameters, as in `prague_2.0_100_10_DualPI2_5_1`: many runs, not one."""
    return len(value) > 1 and all(
        isinstance(one, (int, float)) and len(re.findall(r"[_-]", key)) > 2
        for key, one in value.items()
    )


def _under_names(source: str, value: Mapping[str, Any]) -> Results:
    """A column for each congestion control that opens a name; the rest names the run."""
    stem = source.rpartition("/")[2].partition(".json")[0]
    found = KIND.search(stem)
    kind = found["kind"].lower() if found else ""
    runs: dict[str, dict[str, Value]] = {}
    for name, number in value.items():
        control = CONTROL.match(name)
        label = control[1].lower() if control else ""
        run = name[control.end() :] if control else name
        unit = ASSUMED.get(kind, "")
        key = "_".join(filter(None, (label, kind or stem, unit)))
        runs.setdefault(run, {"run": run})[key] = number
    names = dict.fromkeys(key for row in runs.values() for key in row)
    columns = [column(name, [row.get(name) for row in runs.values()]) for name in names]
    notes = [f"{kind} taken as {ASSUMED[kind]}: the file states no unit"] if kind else []
    return Results(pl.DataFrame(columns), notes, study=KIND.sub("", stem))


def _are_runs(name: str) -> bool:
    return re.fullmatch(r"runs?|results?|experiments?|data|trials?|rows?", name, re.I) is not None


def _alike(value: object) -> bool:
    """Objects that share a key: rows of one table."""
    if not isinstance(value, list) or len(value) < 1:
        return False
    if not all(isinstance(one, Mapping) and one for one in value):
        return False
    return bool(set.intersection(*(set(one) for one in value)))


def _flatten(
    value: Mapping[str, Any], prefix: str, found: dict[str, Value], depth: int
) -> list[str]:
    """Scalars of nested objects under dotted names into ``found``; names of series left out."""
    left: list[str] = []
    for key, item in value.items():
        name = prefix + (untrusted.text(key) or "?")
        if len(found) >= MOST_PARAMETERS:
            break
        if isinstance(item, Mapping) and depth < MOST_DEPTH:
            left += _flatten(item, f"{name}.", found, depth + 1)
        elif _alike(item) and depth < MOST_DEPTH:
            for label, one in _labelled(item):
                left += _flatten(one, f"{name}.{label}.", found, depth + 1)
        elif isinstance(item, list):
            left.append(name)
        elif (scalar := plain(item)) is not None:
            found[name] = scalar
    return left


def _labelled(items: Sequence[Mapping[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Objects of a list by their own names, a second `prague` as `prague#2`; else by number."""
    seen: Counter[str] = Counter()
    found = []
    for number, one in enumerate(items):
        key = next((key for key in LABELS if isinstance(one.get(key), str)), None)
        label = str(one[key]) if key else str(number)
        seen[label] += 1
        if seen[label] > 1:
            label = f"{label}#{seen[label]}"
        found.append((label, {name: value for name, value in one.items() if name != key}))
    return found
