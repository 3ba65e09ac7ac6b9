"""A sweep killed at random moments, with runs among its own that nobody can finish.

L4STRACE_SWEEP_RUNS=1000 makes it a study of that size and kills it ten times; the moments are the
same each time that it runs. L4STRACE_SWEEP_CAPTURES names a folder of more `.pcap.xz` to cut.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import polars as pl
import pytest

from l4strace.schema.sweep import SWEEP_TABLES
from tests.support import slices
from tests.support.places import FIXTURES, REPOSITORY
from tests.support.processes import none_left, running

RUNS = int(os.environ.get("L4STRACE_SWEEP_RUNS", "24"))
MANY = RUNS >= 1000
KILLS = 10 if MANY else 3
LONGEST_S = 40.0 if MANY else 6.0
"""The latest moment of a kill, before any sweep can end: the one that hangs takes longer."""
FLOWS = 600_000 if MANY else 60_000
LIMITS = ("--timeout", "60" if MANY else "20", "--memory", "300")
"""A stretch of a capture takes a second, and 150 MB."""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of runs: small ones, a corrupt one, one that hangs, and two enormous ones."""
    place = tmp_path_factory.mktemp("study")
    chance = Random(14)
    sources = sorted(FIXTURES.glob("*/*.pcap.xz"))
    if more := os.environ.get("L4STRACE_SWEEP_CAPTURES"):
        sources += sorted(Path(more).rglob("*.pcap.xz"))
    slices.runs(place, RUNS - 4, chance, sources)
    (place / "r0000-corrupt.pcap").write_bytes(chance.randbytes(20_000))
    slices.sparse(place / "zeros.pcap")
    slices.flows(place / "flows.pcap", FLOWS)
    os.mkfifo(place / "hangs.pcap")
    names = sorted(path.name for path in place.glob("*.pcap"))
    chance.shuffle(names)
    rows = [f"{name},{number % 7}" for number, name in enumerate(names)]
    (place / "runs.csv").write_text("\n".join(["files,cell", *rows]))
    return place


def begun(place: Path, results: Path) -> subprocess.Popen[str]:
    """`l4strace sweep`, with its workers in a process group of its own."""
    command = [sys.executable, "-m", "l4strace", "sweep", "runs.csv", "-o", str(results), *LIMITS]
    return subprocess.Popen(
        command,
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )


def files_of(results: Path) -> dict[str, bytes]:
    """The dataset as files, under names without their number."""
    return {path.parent.name: path.read_bytes() for path in results.glob("*/*.parquet")}


@pytest.mark.slow
@pytest.mark.needs("ps")
def test_killed_ten_times_it_is_the_same_dataset_byte_for_byte(study: Path, tmp_path: Path):
    undisturbed = begun(study, tmp_path / "whole")
    killed, chance = tmp_path / "killed", Random(3)
    for _ in range(KILLS):
        process = begun(study, killed)
        time.sleep(chance.uniform(0.0, LONGEST_S))
        ran = running(process.pid)
        assert process.poll() is None, process.communicate()[1]
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        none_left(ran, killed)
    for process in (begun(study, killed), undisturbed):
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    runs = pl.read_parquet(killed / "runs")
    failed = dict(runs.filter(pl.col("status") != "ok").select("run", "status").iter_rows())
    assert failed == {"r0000-corrupt": "failed", "flows": "memory", "hangs": "timeout"}
    assert runs.height == RUNS
    assert files_of(killed) == files_of(tmp_path / "whole")
    assert set(files_of(killed)) == set(SWEEP_TABLES)
