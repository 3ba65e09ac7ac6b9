"""The virtual machine of fixtures/lab/vm, for tests that are marked `vm`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.places import FIXTURES

SCRIPTS = FIXTURES / "lab" / "vm"
WITHOUT_LAB = pytest.mark.needs("debootstrap", "qemu-system-x86_64", "cpio", "mkfs.ext4")
WITH_LAB = pytest.mark.needs(*WITHOUT_LAB.args, "clang", "zstd")


def boots(seconds: int, needs: pytest.MarkDecorator = WITHOUT_LAB) -> list[pytest.MarkDecorator]:
    """Marks of a test that boots the machine, and takes at most so long."""
    return [pytest.mark.vm, pytest.mark.root, needs, pytest.mark.timeout(seconds)]


def build_or_skip(lab: bool = False) -> None:
    """Build the machine, or find it built; skip without Debian at hand. `lab`: with DualPI2."""
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
