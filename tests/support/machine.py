"""The virtual machine of fixtures/lab/vm, for tests that run where L4STRACE_VM is set."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.places import FIXTURES

SCRIPTS = FIXTURES / "lab" / "vm"
TOOLS = ("debootstrap", "qemu-system-x86_64", "cpio", "mkfs.ext4")
LAB_TOOLS = ("clang", "zstd")


def build_or_skip(lab: bool = False) -> None:
    """Build the machine, or find it built; skip where that cannot be. `lab`: with DualPI2."""
    if not os.environ.get("L4STRACE_VM"):
        pytest.skip("boots a virtual machine: set L4STRACE_VM=1")
    wanted = TOOLS + LAB_TOOLS if lab else TOOLS
    if missing := [tool for tool in wanted if not shutil.which(tool)]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    if os.geteuid():
        pytest.skip("building the machine needs root")
    command = [SCRIPTS / "build.sh", *(["--lab"] if lab else [])]
    built = subprocess.run(command, check=False, timeout=1800, capture_output=True, text=True)
    if built.returncode:
        said = (built.stderr or built.stdout).strip().splitlines()
        pytest.skip(f"the machine could not be built: {said[-1] if said else 'no reason given'}")


def run_job(name: str, folder: Path, **settings: str) -> Path:
    """Run one job of vm/jobs with these variables; return the folder with what it left."""
    words = " ".join(f"{key}={value}" for key, value in settings.items())
    done = subprocess.run(
        [SCRIPTS / "run.sh", name, folder],
        check=False,
        timeout=1800,
        env={**os.environ, "L4STRACE_VM_SETTINGS": words},
    )
    assert done.returncode == 0, (folder / "job.log").read_text()[-2000:]
    return folder
