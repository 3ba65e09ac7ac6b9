"""The same dataset from a Dask scheduler with workers of its own, one of them killed midway."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from l4strace import errors
from l4strace.schema.sweep import SWEEP_TABLES
from l4strace.studies import cluster, pool, study
from tests.support.places import FIXTURES
from tests.support.processes import PATIENCE_SECONDS, wait_until


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Address of a scheduler; it and its two workers, as processes of their own."""
    file = tmp_path / "scheduler.json"

    def start(program: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{program}", "--scheduler-file", file]
        log = (tmp_path / f"{program}.log").open("ab")
        return subprocess.Popen([*command, *words], cwd=tmp_path, stdout=log, stderr=log)

    processes = [start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")]

    def found() -> str | None:
        try:
            return str(json.loads(file.read_text())["address"])
        except (OSError, ValueError):  # not there yet, or half of it
            return None

    alone = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0")
    processes += [start("dask_worker", *alone) for _ in range(2)]
    try:
        yield wait_until(found, "the scheduler has an address"), processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.slow
def test_a_cluster_gives_the_same_dataset_with_a_worker_killed_midway(
    tmp_path: Path, dask: tuple[str, list[subprocess.Popen[bytes]]]
):
    address, (_, *workers) = dask
    (tmp_path / "in").mkdir()
    for number in range(4):
        (tmp_path / f"in/r{number}.pcap.xz").symlink_to(FIXTURES / "accecn-all-ce/sender.pcap.xz")
    (tmp_path / "in/bad.pcap").write_bytes(b"\xff" * 40)
    source = (tmp_path / "in").as_uri()

    def killing(done: int, total: int) -> None:
        if done == 1:
            workers[0].send_signal(signal.SIGKILL)

    there, here = (tmp_path / name for name in ("there", "here"))
    order = study.Order((source,), there.as_uri(), page=False)
    far = study.sweep(order, cluster.on_cluster(address), killing)
    near = study.sweep(study.Order((source,), str(here), page=False), pool.on_cores(2))
    assert workers[0].wait(PATIENCE_SECONDS) == -signal.SIGKILL
    assert far.measured == 4
    assert far.tables["runs"]["status"].to_list() == ["failed", *["ok"] * 4]
    for name in SWEEP_TABLES:
        assert far.tables[name].equals(near.tables[name])
    assert study.sweep(order, cluster.on_cluster(address)).measured == 0


@pytest.mark.slow
def test_a_connection_that_is_lost_is_one_line(
    tmp_path: Path, dask: tuple[str, list[subprocess.Popen[bytes]]]
):
    address, (scheduler, *_) = dask
    (tmp_path / "in").mkdir()
    for number in range(12):
        (tmp_path / f"in/r{number}.pcap.xz").symlink_to(FIXTURES / "accecn-all-ce/sender.pcap.xz")

    def killing(done: int, total: int) -> None:
        if done == 1:
            scheduler.kill()
            scheduler.wait()

    order = study.Order((str(tmp_path / "in"),), str(tmp_path / "out"), page=False)
    with pytest.raises(errors.InputError, match="connection lost") as lost:
        study.sweep(order, cluster.on_cluster(address), killing)
    assert "\n" not in str(lost.value)


def test_a_scheduler_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(cluster, "CONNECT_S", 0.5)
    (tmp_path / "x.pcap").write_bytes(b"")
    order = study.Order((str(tmp_path),), str(tmp_path / "out"))
    with pytest.raises(errors.UsageError, match="no answer"):
        study.sweep(order, cluster.on_cluster("tcp://127.0.0.1:9"))


def test_without_dask_it_is_one_clear_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(errors.UsageError, match="needs Dask") as raised:
        cluster.on_cluster("tcp://127.0.0.1:9")
    assert "l4strace[cluster]" in raised.value.hint
