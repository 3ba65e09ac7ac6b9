"""Runs hostile files through the command line, many in one process.

    python -m tests.support.hostile.batch FIRST COUNT      one JSON line with what went wrong

Case N is the same file and the same command for ever. A case fails when its exit code is none of
0, 1 and 3, when it takes 20 s of CPU or the process 1 GB, or when output drives a terminal.
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree as Xml

from l4strace import cli
from tests.support.hostile import captures, logs
from tests.support.hostile.texts import FORGED, TEXTS

GOOD = (0, 1, 3)
MOST_SECONDS = 20.0
MOST_BYTES = 1 << 30
FORMATS = ("text", "json", "markdown", "sarif", "junit")
PAGE_EVERY = 20


def files(number: int, folder: Path) -> list[Path]:
    """Writes the files of one case: a log or a capture, alone or a capture with companions."""
    chance = Random(f"files {number}")
    names = [*logs.KINDS, "pcapng", "pcapng"]
    kind = names[number % len(names)]
    stem = f"run{number}"
    if chance.random() < 0.1:
        stem += chance.choice(TEXTS)[:40].replace("/", "").replace("\0", "").replace("\ud800", "")
    path = folder / f"{stem}.{kind}"
    if kind == "pcapng":
        path.write_bytes(captures.one(f"{number}"))
        for other in (other for other in logs.KINDS if chance.random() < 0.2):
            path.with_name(f"{stem}.{other}").write_bytes(logs.one(other, f"{number} beside"))
    else:
        path.write_bytes(logs.one(kind, f"{number}"))
    return [path]


def words(number: int, paths: list[Path], page: Path) -> list[str]:
    """The command of one case."""
    chance = Random(f"words {number}")
    named = [str(path) for path in paths]
    kind = chance.randrange(10)
    if kind == 0:
        return ["flows", *named]
    if kind == 1:
        table = chance.choice(("kernel", "flows", "sources", "stats", "rounds", "detector"))
        return ["export", table, *named, "-f", chance.choice(("csv", "ndjson"))]
    shown = FORMATS[number % len(FORMATS)]
    where = ["-o", str(page)] if number % PAGE_EVERY == 0 else ["--no-html"]
    return ["diagnose", *named, "--format", shown, *where]


def call(arguments: list[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of one call in this process."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    sys.argv = ["l4strace", *arguments]
    code = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(bool(end.code))
        except BaseException as error:
            code, _ = 99, print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
    return code, *(s.buffer.getvalue().decode("utf-8", "replace") for s in (out, err))  # type: ignore[attr-defined]


def faults(arguments: list[str], code: int, out: str, err: str, seconds: float) -> Iterator[str]:
    """What is wrong with how one case went."""
    if code not in GOOD:
        yield f"exit code {code}: {err.strip()[:300]}"
    if code == 3 and (not err.startswith("error: ") or "Traceback" in err):
        yield f"no clear line: {err[:200]!r}"
    if seconds > MOST_SECONDS:
        yield f"{seconds:.0f} s"
    for name, text in (("output", out), ("error", err)):
        if bad := {c for c in text if c != "\n" and not c.isprintable()}:
            yield f"{name} holds {bad!r}"
        if any(line.startswith(FORGED) for line in text.splitlines()):
            yield f"{name} holds a forged line"
    if code in (0, 1) and "--format" in arguments:
        yield from _format_faults(arguments[arguments.index("--format") + 1], out)


def _format_faults(kind: str, out: str) -> Iterator[str]:
    try:
        if kind in ("json", "sarif"):
            json.loads(out)
        elif kind == "junit":
            Xml.fromstring(out)  # noqa: S314 - our own output
    except (ValueError, Xml.ParseError) as error:
        yield f"{kind} is not {kind}: {error}"


def run(first: int, count: int, folder: Path) -> dict[str, Any]:
    """Runs cases ``first`` to ``first + count``: how many, by exit code, and what failed."""
    codes: dict[int, int] = {}
    failed: list[str] = []
    slowest = 0.0
    for number in range(first, first + count):
        paths = files(number, folder)
        page = folder / f"page{number}.html"
        arguments = words(number, paths, page)
        started = time.process_time()
        code, out, err = call(arguments)
        seconds = time.process_time() - started
        slowest = max(slowest, seconds)
        codes[code] = codes.get(code, 0) + 1
        failed += [f"case {number}: {w}" for w in faults(arguments, code, out, err, seconds)]
        for path in folder.iterdir():
            path.unlink()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    if peak > MOST_BYTES:
        failed.append(f"cases from {first}: {peak >> 20} MB")
    return {"cases": count, "codes": codes, "failed": failed, "slowest": slowest, "peak": peak}


def main() -> None:
    """The batch that the command line names."""
    first, count = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        print(json.dumps(run(first, count, Path(name))))


if __name__ == "__main__":
    main()
