"""What does not fit among the runs of a study, in one sentence each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from l4strace.studies.parameters import LEADING, PREFIX, Value, order, quantity

MOST_NAMED = 3
Given = tuple[str, Mapping[str, Value | None], str | None]
"""Name, parameters and repetition of a run."""


def of_parameters(runs: Sequence[Given], tables: Sequence[Mapping[str, pl.DataFrame]]) -> list[str]:
    """Values in two spellings, and runs that state one repetition of equal parameters twice."""
    everything = [*runs, *(one for held in tables for one in _of_table(held["runs"]))]
    values: dict[str, Counter[str]] = defaultdict(Counter)
    for _, parameters, _ in everything:
        for name, value in parameters.items():
            if value is not None:
                values[name][str(value)] += 1
    found = [note for name in values if (note := _spellings(name, values[name]))]
    return found + _twice(everything)


def repeated(frame: pl.DataFrame, label: str) -> list[str]:
    """A note on rows of a table that equal another one in every column."""
    more = frame.height - frame.unique().height if frame.width else 0
    return [f"{label}: rows that repeat another in every column: {more:,}"] if more else []


def some(names: Sequence[str]) -> str:
    """The first few of ``names``."""
    shown = ", ".join(names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown


def _of_table(runs: pl.DataFrame) -> Iterable[Given]:
    names = [name for name in runs.columns if name.startswith(PREFIX)]
    for run, repetition, *given in runs.select("run", "repetition", *names).iter_rows():
        yield (
            run,
            dict(zip((n.removeprefix(PREFIX) for n in names), given, strict=True)),
            repetition,
        )


def _spellings(name: str, values: Counter[str]) -> str | None:
    """`rtt: 80 and 80ms look like one value (12 and 4 runs)`."""
    groups: dict[object, list[str]] = defaultdict(list)
    for value in values:
        groups[_meaning(value)].append(value)
    bare = {number: text for text in values if (number := _bare(text)) is not None}
    for value in values:
        leading = LEADING.match(value)
        if quantity(value) is not None and leading and float(leading[0]) in bare:
            groups[_meaning(value)].append(bare[float(leading[0])])
    alike = [sorted(set(group), key=order) for group in groups.values() if len(set(group)) > 1]
    if not alike:
        return None
    pairs = [
        f"{' and '.join(one)} ({' and '.join(f'{values[text]:,}' for text in one)} runs)"
        for one in alike[:MOST_NAMED]
    ]
    return f"parameter {name}: {'; '.join(pairs)} look like one value in two spellings"


def _meaning(value: str) -> object:
    """Equal for two spellings of one value."""
    return quantity(value) or "".join(c for c in value.casefold() if c not in " _-")


def _bare(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _twice(runs: Sequence[Given]) -> list[str]:
    """Runs whose parameters and repetition are those of an earlier run."""
    seen: set[object] = set()
    again = []
    for name, parameters, repetition in runs:
        if repetition is None:
            continue
        key = frozenset((k, v) for k, v in parameters.items() if v is not None), repetition
        if key in seen:
            again.append(name)
        seen.add(key)
    if not again:
        return []
    return [f"parameters and repetition are those of an earlier run: {some(again)}"]
