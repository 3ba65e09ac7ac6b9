"""Hostile logs, host files and captures by seed: exit 0, 1 or 3, 20 s and 1 GB at most.

`make fuzz` runs 20,000. `python -m tests.support.hostile.batch N 1` runs case N alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

CASES = int(os.environ.get("L4STRACE_HOSTILE_CASES", "240"))
BATCH = 120
"""Cases of one process, whose peak memory is what counts."""


SWEEPS = int(os.environ.get("L4STRACE_HOSTILE_SWEEPS", "480"))


PANICS = 13_028
"""A dataset with a footer over which polars panics, which is no Exception."""


def batch(first: int, module: str = "batch", count: int = BATCH) -> dict:
    command = [sys.executable, "-m", f"tests.support.hostile.{module}", str(first), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"cases from {first}: {done.stderr[-2000:]}"
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_hostile_input_ends_in_0_1_or_3() -> None:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(batch, range(0, CASES, BATCH)))
    codes: dict[str, int] = {}
    for result in results:
        for code, count in result["codes"].items():
            codes[code] = codes.get(code, 0) + count
    failed = [fault for result in results for fault in result["failed"]]
    assert not failed, f"{len(failed)} of {CASES}: {failed[:5]}"
    # Cases that are all refused would test nothing.
    assert codes["0"] + codes["1"] > CASES // 2
    assert codes["3"] > 0
    print(f"{sum(codes.values()):,} cases by exit code: {codes}")


@pytest.mark.slow
def test_hostile_sweeps_end_in_0_to_3_and_touch_nothing_else() -> None:
    """Sources, manifests and datasets: nothing outside of the results changes."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda n: batch(n, "sweeps"), range(0, SWEEPS, BATCH)))
    failed = [fault for result in results for fault in result["failed"]]
    assert not failed, f"{len(failed)} of {SWEEPS}: {failed[:5]}"
    codes = {
        code: sum(result["codes"].get(code, 0) for result in results) for code in ("0", "2", "3")
    }
    assert all(codes.values())
    slowest = max(result["slowest"] for result in results)
    peak = max(result["peak"] for result in results) >> 20
    print(f"{SWEEPS:,} sweeps by exit code: {codes}; at most {slowest:.1f} s, {peak} MB")


@pytest.mark.slow
def test_a_dataset_that_polars_panics_over_is_one_line() -> None:
    assert batch(PANICS, "sweeps", 1)["codes"] == {"3": 1}
