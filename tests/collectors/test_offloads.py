"""Offloads that a run switched off, and what a killed run left (interfaces are stand-ins)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from process import began
from run import offloads
from run.offloads import Offloads


class Drivers:
    """Interfaces with switches."""

    def __init__(self) -> None:
        self.on = {"eth0": {"gro", "tso"}, "eth1": {"gso"}}
        self.broken: set[str] = set()

    def merging(self, name: str) -> list[str]:
        return sorted(self.on[name])

    def set_offload(self, name: str, offload: str, on: bool) -> None:
        if name in self.broken and not on:
            raise OSError(1, "Operation not permitted")
        (self.on[name].add if on else self.on[name].discard)(offload)


@pytest.fixture
def drivers(monkeypatch: pytest.MonkeyPatch) -> Drivers:
    made = Drivers()
    monkeypatch.setattr(offloads, "interfaces", made)
    return made


def test_what_was_on_is_on_again(drivers: Drivers, tmp_path: Path) -> None:
    run = Offloads(["eth0", "eth1"], str(tmp_path))
    run.switch_off()
    assert drivers.on == {"eth0": set(), "eth1": set()}
    assert run.restore() == []
    assert drivers.on == {"eth0": {"gro", "tso"}, "eth1": {"gso"}}
    assert list(tmp_path.iterdir()) == []


def test_a_driver_that_refuses_leaves_all_as_it_was(drivers: Drivers, tmp_path: Path) -> None:
    drivers.broken.add("eth1")
    run = Offloads(["eth0", "eth1"], str(tmp_path))
    with pytest.raises(OSError, match="permitted"):
        run.switch_off()
    assert drivers.on == {"eth0": {"gro", "tso"}, "eth1": {"gso"}}
    assert list(tmp_path.iterdir()) == []


def left(folder: Path, pid: int, network: int, began: int | None = 7) -> Path:
    path = folder / f"{offloads.PREFIX}{pid}"
    path.write_text(json.dumps({"network": network, "began": began, "on": {"eth0": ["gro"]}}))
    return path


def test_what_a_killed_run_left_is_restored_once_and_in_its_own_network(
    drivers: Drivers, tmp_path: Path
) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    drivers.on["eth0"].clear()
    elsewhere = left(tmp_path, gone.pid, offloads.network() + 1)
    assert offloads.restore_left(str(tmp_path)) == []
    assert elsewhere.exists()
    left(tmp_path, gone.pid, offloads.network())
    assert offloads.restore_left(str(tmp_path)) == ["eth0"]
    assert drivers.on["eth0"] == {"gro"}
    assert offloads.restore_left(str(tmp_path)) == []


def test_what_a_living_run_has_is_left_to_it(drivers: Drivers, tmp_path: Path) -> None:
    drivers.on["eth0"].clear()
    path = left(tmp_path, os.getpid(), offloads.network(), began(os.getpid()))
    (tmp_path / f"{offloads.PREFIX}x").write_text("{")
    assert offloads.restore_left(str(tmp_path)) == []
    assert path.exists()
    assert drivers.on["eth0"] == set()


def test_a_zombie_and_a_later_process_of_its_number_are_no_living_run(
    drivers: Drivers, tmp_path: Path
) -> None:
    drivers.on["eth0"].clear()
    zombie = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    left(tmp_path, zombie.pid, offloads.network(), began(zombie.pid))
    assert offloads.restore_left(str(tmp_path)) == []
    zombie.kill()
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    assert offloads.restore_left(str(tmp_path)) == ["eth0"]
    zombie.communicate()
    left(tmp_path, os.getpid(), offloads.network())
    assert offloads.restore_left(str(tmp_path)) == ["eth0"]
