"""Copies of hostile logs, host files and captures: nothing of theirs, and the same findings.

`make fuzz` runs thousands. `python -m tests.support.hostile.redacted N 1` runs case N alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

CASES = int(os.environ.get("L4STRACE_HOSTILE_CASES", "240")) // 24


@pytest.mark.slow
def test_copies_of_hostile_files_hold_nothing_and_are_judged_alike() -> None:
    command = [sys.executable, "-m", "tests.support.hostile.redacted", "0", str(CASES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["failed"] == []
    assert result["cases"] == CASES
