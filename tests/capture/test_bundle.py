"""The collectors travel as one file: every room of them is in it, and any Python 3.8 runs it."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

from l4strace import installed
from l4strace.capture import bundle


def written(folder: Path) -> Path:
    path = folder / "collectors.pyz"
    path.write_bytes(bundle.zipapp())
    return path


def test_the_zipapp_holds_every_module_in_its_room(tmp_path: Path) -> None:
    source = installed.path("collectors")
    expected = {
        str(path.relative_to(source))
        for path in source.rglob("*")
        if path.suffix in (".py", ".c", ".h")
    }
    held = set(zipfile.ZipFile(written(tmp_path)).namelist())
    assert held == expected
    assert {"__main__.py", "kernel/probes.bpf.c", "packets/pcapng.py"} <= held


def test_the_zipapp_runs_in_isolated_mode(tmp_path: Path) -> None:
    command = [sys.executable, "-I", str(written(tmp_path)), "host"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["format"] == "l4strace-host"
