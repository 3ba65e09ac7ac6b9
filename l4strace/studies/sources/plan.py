"""The plan of a sweep before it measures: its runs, its parameters, what does not fit."""

from __future__ import annotations

from collections import Counter
from typing import Any

from l4strace.console import one_line
from l4strace.studies.dataset import parameters_of
from l4strace.studies.parameters import PREFIX, Value, order
from l4strace.studies.sources.discover import Found
from l4strace.wording.quantities import count

MOST_RUNS = 10
MOST_VALUES = 8
SCHEMA = 1


def text(found: Found) -> str:
    """Runs, each parameter with its values, and the notes."""
    held = sum(tables["runs"].height for tables in found.tables)
    lines = [
        f"{count(len(found.planned), 'run')} to measure, {count(held, 'run')} from tables",
        *(f"  {_run(name, files)}" for name, files in _files(found)[:MOST_RUNS]),
    ]
    if (more := len(found.planned) - MOST_RUNS) > 0:
        lines.append(f"  ... and {more:,} more")
    for name, values in parameters(found).items():
        shown = sorted(values, key=order)
        listed = ", ".join(f"{one_line(str(v))} ({values[v]:,})" for v in shown[:MOST_VALUES])
        rest = f", and {len(shown) - MOST_VALUES:,} more" if len(shown) > MOST_VALUES else ""
        lines.append(f"Parameter {one_line(name)}: {listed}{rest}")
    return "\n".join([*lines, *(f"Note: {one_line(note)}" for note in found.notes)])


def document(found: Found) -> dict[str, Any]:
    """The plan of a sweep as plain data; later versions only add keys."""
    return {
        "schema": SCHEMA,
        "to_measure": [
            {"run": one.name, "files": list(one.files), "parameters": dict(one.parameters),
             "repetition": one.repetition, "error": one.error or None}
            for one in found.planned
        ],
        "from_tables": sum(tables["runs"].height for tables in found.tables),
        "parameters": {
            name: [{"value": value, "runs": values[value]} for value in sorted(values, key=order)]
            for name, values in parameters(found).items()
        },
        "notes": found.notes,
    }  # fmt: skip


def parameters(found: Found) -> dict[str, Counter[Value]]:
    """Values of each parameter, and how many runs have each."""
    counts: dict[str, Counter[Value]] = {}
    for one in found.planned:
        for name, value in one.parameters.items():
            if value is not None:
                counts.setdefault(name, Counter())[value] += 1
    for tables in found.tables:
        runs = tables["runs"]
        for name in parameters_of(runs):
            values = runs[PREFIX + name].drop_nulls().to_list()
            counts.setdefault(name, Counter()).update(values)
    return counts


def _files(found: Found) -> list[tuple[str, str]]:
    return [(one.name, one.error or count(len(one.files), "file")) for one in found.planned]


def _run(name: str, files: str) -> str:
    return f"{one_line(name)}: {one_line(files)}"
