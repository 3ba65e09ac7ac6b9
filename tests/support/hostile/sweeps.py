"""Runs hostile sweep sources, manifests and datasets, many in one process.

    python -m tests.support.hostile.sweeps FIRST COUNT     one JSON line with what went wrong

Case N is the same for ever. A case fails when it ends in anything but exit codes 0 to 3, when it
takes 20 s of CPU or the process 1 GB, or when a file outside the results is not what it was.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

from l4strace.comparison import baseline
from l4strace.errors import InputError, L4straceError, UsageError
from l4strace.schema.sweep import SWEEP_TABLES
from l4strace.studies import study
from l4strace.studies.sources import discover
from tests.support.hostile.batch import MOST_BYTES, MOST_SECONDS
from tests.support.hostile.texts import NUMBERS, TEXTS, damaged, spoilt, value
from tests.support.sweeps import failing

MEASURED = (
    "6.1.0b",
    "1.2.3mbit",
    "50mbit",
    "20ms",
    "9" * 40,
    "nan",
    "-inf",
    "1e999",
    "true",
    "",
    "-",
)
COLUMNS = (
    "files",
    "run",
    "rate",
    "rtt",
    "aqm",
    "kernel",
    "i",
    "prague throughput",
    "classic",
    "p_x",
)
NAMES = (
    "a.pcap",
    "a",
    "a#2",
    "in/a.pcap",
    "../home/thesis.tex",
    "x" * 300,
    "file:///etc/passwd",
    "nope://x",
)
INDEXES = ("{}", "[]", "null", "", "{", '{"format": "l4strace-sweep"}', '{"format": "other"}')
LINKED = (
    "flows",
    "runs",
    "measures",
    "findings",
    "pages",
    "index.html",
    "sweep.json",
    "sweep.json.part",
)


def text(chance: Random) -> str:
    """A cell: a name, a value with a unit, or a text that breaks careless programs."""
    kind = chance.randrange(4)
    one = chance.choice((NAMES, MEASURED, TEXTS, MEASURED)[kind])
    return one.encode("utf-8", "replace").decode()[:400]


def table(chance: Random) -> bytes:
    """A table of runs or results, a third of them damaged as bytes."""
    columns = chance.sample(COLUMNS, chance.randrange(1, 6))
    separator = chance.choice(",,,\t")
    rows = [separator.join(columns)]
    for _ in range(chance.choice((0, 1, 2, 6))):
        cells = (chance.choice((text(chance), str(chance.choice(NUMBERS))[:400])) for _ in columns)
        rows.append(
            separator.join(f'"{cell}"' if chance.random() < 0.5 else cell for cell in cells)
        )
    data = "\n".join(rows).encode("utf-8", "replace")
    return damaged(data, chance) if chance.random() < 0.33 else data


def listed(chance: Random) -> bytes:
    lines = (text(chance) for _ in range(chance.choice((0, 1, 3))))
    data = "\n".join(lines).encode("utf-8", "replace")
    return damaged(data, chance) if chance.random() < 0.33 else data


def manifest(chance: Random) -> bytes:
    tree = {"parameters": {"rate": "50mbit", "rtt": "20ms", "x": {"y": 1}}, "repetition": 1}
    data = json.dumps(spoilt(tree, chance, 0.3)).encode("utf-8", "replace")
    return damaged(data, chance) if chance.random() < 0.33 else data


def source(chance: Random, folder: Path) -> Path:
    """A folder with manifests, a table, a list, or a pipe."""
    kind = chance.randrange(6)
    inside = folder / "in"
    inside.mkdir()
    (inside / "a.pcap").write_bytes(b"")
    if kind < 2:
        ending = chance.choice(("json", "json", "yaml", "toml"))
        (inside / f"manifest.{ending}").write_bytes(manifest(chance))
        for name in chance.sample(TEXTS, 2):
            odd = name.encode("utf-8", "replace").replace(b"/", b"").replace(b"\0", b"")[:60]
            Path(os.fsdecode(bytes(inside) + b"/" + odd + b".pcap")).write_bytes(b"")
        return inside
    ending = chance.choice((".csv", ".csv", ".tsv") if kind < 4 else (".txt", ".list"))
    made = folder / f"runs{ending}"
    if chance.random() < 0.03:
        os.mkfifo(made)
        return made
    data = table(chance) if kind < 4 else listed(chance)
    if chance.random() < 0.2:
        made = made.with_name(f"{made.name}.gz")
        data = gzip.compress(data, 1)
        data = data[: chance.randrange(len(data))] if chance.random() < 0.3 else data
    made.write_bytes(data)
    return made


def parquet(chance: Random, name: str) -> bytes:
    """A part of a dataset: of the right columns or of others, a third damaged as bytes."""
    declared = SWEEP_TABLES[name]
    columns: dict[str, Any] = {}
    for column in declared.columns:
        if chance.random() < 0.8:
            wanted = chance.random() < 0.8
            cells = [f"r{n}" if column.name == "run" else None for n in range(3)]
            columns[column.name] = (
                pl.Series(
                    cells, dtype=column.dtype if wanted or column.name != "run" else pl.String
                )
                if wanted
                else [str(value(chance)).encode("utf-8", "replace").decode() for _ in range(3)]
            )
    columns |= {
        f"p_{n}": [chance.choice(MEASURED) for _ in range(3)] for n in range(chance.randrange(3))
    }
    out = io.BytesIO()
    pl.DataFrame(columns, strict=False).write_parquet(out)
    return damaged(out.getvalue(), chance) if chance.random() < 0.33 else out.getvalue()


def dataset(chance: Random, results: Path) -> None:
    """What may lie where the results go: nothing, a dataset, links to somebody's files."""
    if chance.random() < 0.3:
        return
    results.mkdir()
    index: Any = {"format": "l4strace-sweep", "version": 2, "parts": [1]}
    made = (
        json.dumps(spoilt(index, chance, 0.1)) if chance.random() < 0.7 else chance.choice(INDEXES)
    )
    (results / "sweep.json").write_text(made.encode("utf-8", "replace").decode())
    for name in SWEEP_TABLES:
        if chance.random() < 0.8:
            (results / name).mkdir()
            for part in chance.sample(
                ("000001.parquet", "000002.parquet", "000001.parquet.part", "x"), 2
            ):
                (results / name / part).write_bytes(parquet(chance, name))
    for name in chance.sample(LINKED, chance.choice((0, 1, 1, 3))):
        place = results / name
        shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
        place.symlink_to(chance.choice(("../home", "../home/thesis.tex", "../nothing", ".", "/")))


def home(folder: Path) -> None:
    """Somebody else's files, some under names of parts."""
    (folder / "home").mkdir()
    for name in ("thesis.tex", "000001.parquet", "000002.parquet", "index.html", "sweep.json"):
        (folder / "home" / name).write_text("mine")


def outside(folder: Path) -> dict[str, bytes | None]:
    """Every file that is not below the results."""
    return {
        str(path): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in sorted(folder.rglob("*"))
        if path != folder / "res" and folder / "res" not in path.parents
    }


def once(number: int, folder: Path) -> tuple[int, float, list[str]]:
    """One case: its exit code, its seconds of CPU, and what is wrong with how it went."""
    chance = Random(f"sweep {number}")
    home(folder)
    order = study.Order(
        (str(source(chance, folder)),),
        str(folder / "res"),
        discover.How(name=chance.choice(("", "", "", "{a}-{b:ms}"))),
        pages=chance.random() < 0.2,
    )
    dataset(chance, folder / "res")
    before = outside(folder)
    started = time.process_time()
    code, wrong = 0, []
    try:
        done = study.sweep(order, failing)
        code = 0 if done.tables["runs"].height else 3
        baseline.load(order.results)
    except (UsageError, InputError, L4straceError) as error:
        code = error.exit_code
        if "\n" in str(error) or not str(error).isprintable():
            wrong.append(f"no clear line: {str(error)[:200]!r}")
    except BaseException as error:
        code = 70
        wrong.append(f"{type(error).__name__}: {str(error)[:300]}")
    seconds = time.process_time() - started
    if seconds > MOST_SECONDS:
        wrong.append(f"{seconds:.0f} s")
    if outside(folder) != before:
        wrong.append("files outside of the results changed")
    return code, seconds, [f"case {number}: {one}" for one in wrong]


def run(first: int, count: int) -> dict[str, Any]:
    """Runs cases ``first`` to ``first + count``: how many, by exit code, and what failed."""
    codes: dict[int, int] = {}
    failed: list[str] = []
    slowest = 0.0
    for number in range(first, first + count):
        with tempfile.TemporaryDirectory() as name:
            code, seconds, wrong = once(number, Path(name))
        slowest = max(slowest, seconds)
        codes[code] = codes.get(code, 0) + 1
        failed += wrong
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    if peak > MOST_BYTES:
        failed.append(f"cases from {first}: {peak >> 20} MB")
    return {"cases": count, "codes": codes, "failed": failed, "slowest": slowest, "peak": peak}


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]))))
