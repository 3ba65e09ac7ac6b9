"""Samples of bcc against what the test double wrote, in an emulated machine of two processors.

Needs what test_vm.py needs, and L4STRACE_VM_KNOWN=1: with two emulated processors the guest's
kernel patches instructions that the other one runs, and now and then the emulator shows it half of
one (an Oops of int3, after which the machine is gone). The job takes any number of samples:
`L4STRACE_VM_SETTINGS="SAMPLES=5000000" run.sh known OUTPUT`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.kernel_log import read_log
from tests.support.machine import boots, build_or_skip, run_job

SAMPLES = 50_000
SHARED = "P2-shared"
"""One scratch for all programs of a processor, as it was: what the job must not miss."""

pytestmark = boots(3600)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not os.environ.get("L4STRACE_VM_KNOWN"):
        pytest.skip("L4STRACE_VM_KNOWN is not set: two emulated processors may not live to the end")
    build_or_skip()
    builds = f"P2,P2-inlined,{SHARED.replace('-', '/')}"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("L4STRACE_VM_CPUS", "2")
        environment.setenv("L4STRACE_VM_CLOCK", "real")
        folder = tmp_path_factory.mktemp("known")
        return run_job("known", folder, SAMPLES=str(SAMPLES), BUILDS=builds)


def counted(folder: Path, name: str) -> dict[str, Any]:
    return dict(json.loads((folder / f"{name}.json").read_text()))


@pytest.mark.parametrize("build", ["P2", "P2-inlined"])
def test_every_field_of_every_sample_is_what_was_written(known: Path, build: str) -> None:
    """`before_init`: calls on a state that prague_init has yet to write."""
    counts = counted(known, build)
    assert (counts["wrong"], counts["others"]) == (0, 0), (known / f"{build}.wrong").read_text()
    assert counts["checked"] + counts["before_init"] == counts["samples"] >= SAMPLES
    assert counts["before_init"] < SAMPLES / 100
    assert read_log(known / f"{build}.ndjson")[-1]["lost"]["skipped"] > 0, "no probe nested"


def test_one_scratch_for_all_is_seen(known: Path) -> None:
    assert counted(known, SHARED)["wrong"] > 0
