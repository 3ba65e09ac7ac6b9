"""No sample holds two sockets: the code of the probes, interrupted by itself at every step.

A kernel that nests probes is not at hand everywhere; the C of sample.bpf.h is the same anywhere.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from kernel.offsets import FIELDS, RATE_SAMPLE, Layout

HEADER = Path(__file__).resolve().parents[2] / "collectors" / "kernel" / "sample.bpf.h"
DEEP = 3
"""As in slots.cpp: a probe is interrupted by one that is interrupted by one that is interrupted."""
TAKEN = "if (*(volatile u64 *)&slot->busy == 1)"

pytestmark = pytest.mark.needs("g++")


class Counts(NamedTuple):
    """What slots.cpp prints. `steps`: places where a probe can be interrupted."""

    steps: int
    corrupted: int
    emitted: int
    nested: int
    lost: int


def run(folder: Path, header: str) -> Counts:
    (folder / "sample.bpf.h").write_text(header.replace("#include <uapi/linux/ptrace.h>", ""))
    names = [*FIELDS, "MIN_RTT", *RATE_SAMPLE, "OPS_NAME"]
    macros = {f"OFF_{name}": 16 * number for number, name in enumerate(names)}
    macros |= {f"SIZE_{name}": room for name, (_, _, room) in FIELDS.items()} | {"SIZE_MIN_RTT": 4}
    macros |= {f"BIT_{name}": bit for name, bit in Layout.bits(None).items()}  # type: ignore[arg-type]
    macros |= {"CA_SIZE": 104, "EVERY_ACK": 1, "OFF_CA_PRIV": 2048}
    macros |= {"NAMESPACE": 0, "OFF_NET": -1, "OFF_INUM": -1}
    defined = [f"-D{name}={value}" for name, value in macros.items()]
    source = Path(__file__).with_name("slots.cpp")
    options = ["-O1", "-w", "-fpermissive", "-DWANTED(s,d)=1", '-DHEADER="sample.bpf.h"']
    built = subprocess.run(
        ["g++", *options, *defined, f"-I{folder}", source, "-o", folder / "slots"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    done = subprocess.run([folder / "slots"], capture_output=True, text=True)
    assert done.returncode == 0, "every slot is free at the end"
    return Counts(*map(int, done.stdout.split()))


def test_no_sample_holds_another_sockets_state(tmp_path: Path) -> None:
    found = run(tmp_path, HEADER.read_text())
    assert found.nested > found.steps**DEEP
    assert found.lost > 0
    assert found.corrupted == 0


def test_one_slot_for_all_would_be_seen(tmp_path: Path) -> None:
    """As it was: one scratch per CPU."""
    shared = HEADER.read_text().replace(TAKEN, "if (index == 0)")
    assert shared != HEADER.read_text()
    assert run(tmp_path, shared).corrupted > 0
