"""Redacts hostile files: copies hold none of their strings, and are judged as their originals.

python -m tests.support.hostile.redacted FIRST COUNT      one JSON line with what went wrong
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from l4strace.core import _native
from l4strace.ingest import file_names
from tests.support.hostile import batch
from tests.support.hostile.texts import MARK

SECRETS = (MARK, "10.77.1.2", "10.77.3.2", "eth0")
OUT = "copies"


def faults(number: int, folder: Path) -> Iterator[str]:
    """What is wrong with the copies of one case."""
    paths = [str(path) for path in batch.files(number, folder)]
    code, _, err = batch.call(["redact", *paths, "-o", OUT, "--key", "of this test"])
    if code not in (0, 3) or "Traceback" in err:
        yield f"exit code {code}: {err.strip()[:300]}"
    copies = sorted(Path(OUT).iterdir()) if Path(OUT).is_dir() else []
    for copy in copies:
        text = b"".join(_native.read_text(str(copy))).decode("utf-8", "replace")
        yield from (f"{copy.suffixes} holds {secret}" for secret in SECRETS if secret in text)
    before = judged(paths)
    if code == 3:
        if before[0] != 3:
            yield f"not redacted, but read: {err.strip()[:300]}"
        return
    after = judged([str(Path(OUT) / file_names.shown(Path(path).name)) for path in paths])
    if before != after:
        yield f"judged {after}, not {before}"


def judged(paths: list[str]) -> tuple[int, list[tuple[str, ...]]]:
    """Exit code and findings."""
    code, out, _ = batch.call(["diagnose", *paths, "--json", "--no-html", "--fail-on", "never"])
    found = json.loads(out)["findings"] if code == 0 else []
    return code, [(f["rule"], f["severity"], f["confidence"]) for f in found]


def run(first: int, count: int, folder: Path) -> dict[str, Any]:
    """Runs cases ``first`` to ``first + count``."""
    failed: list[str] = []
    for number in range(first, first + count):
        failed += [f"case {number}: {fault}" for fault in faults(number, folder)]
        shutil.rmtree(OUT, ignore_errors=True)
        for path in folder.iterdir():
            path.unlink()
    return {"cases": count, "failed": failed}


def main() -> None:
    """The cases that the command line names."""
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]), Path(name))))


if __name__ == "__main__":
    main()
