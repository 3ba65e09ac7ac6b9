"""No sample holds two sockets: the code of the probes, interrupted at random by itself.

A kernel that nests probes is not at hand everywhere; the C of sample.bpf.h is the same anywhere.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kernel.offsets import FIELDS, RATE_SAMPLE, Layout

HEADER = Path(__file__).resolve().parents[2] / "collectors" / "kernel" / "sample.bpf.h"
SAMPLES = int(os.environ.get("L4STRACE_SLOT_SAMPLES", "600000"))
NESTED = 5000
"""As in slots.cpp."""
TAKEN = "if (*(volatile u64 *)&slot->busy == 1)"


def run(folder: Path, header: str) -> tuple[int, int, int]:
    """Samples that were corrupted, emitted, and emitted while another one was being made."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    (folder / "sample.bpf.h").write_text(header.replace("#include <uapi/linux/ptrace.h>", ""))
    names = [*FIELDS, "MIN_RTT", *RATE_SAMPLE, "OPS_NAME"]
    macros = {f"OFF_{name}": 16 * number for number, name in enumerate(names)}
    macros |= {f"SIZE_{name}": room for name, (_, _, room) in FIELDS.items()} | {"SIZE_MIN_RTT": 4}
    macros |= {f"BIT_{name}": bit for name, bit in Layout.bits(None).items()}  # type: ignore[arg-type]
    macros |= {"CA_SIZE": 104, "EVERY_ACK": 1, "OFF_CA_PRIV": 2048}
    defined = [f"-D{name}={value}" for name, value in macros.items()]
    source = Path(__file__).with_name("slots.cpp")
    options = ["-O1", "-w", "-fpermissive", "-DWANTED(s,d)=1", '-DHEADER="sample.bpf.h"']
    built = subprocess.run(
        [compiler, *options, *defined, f"-I{folder}", source, "-o", folder / "slots"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    done = subprocess.run([folder / "slots", str(SAMPLES)], capture_output=True, text=True)
    assert done.returncode == 0, "every slot is free at the end"
    corrupted, emitted, nested = map(int, done.stdout.split())
    return corrupted, emitted, nested


def test_no_sample_holds_another_sockets_state(tmp_path: Path) -> None:
    corrupted, emitted, nested = run(tmp_path, HEADER.read_text())
    assert nested >= NESTED
    assert emitted >= SAMPLES
    assert corrupted == 0


def test_one_slot_for_all_would_be_seen(tmp_path: Path) -> None:
    """As it was: one scratch per CPU."""
    shared = HEADER.read_text().replace(TAKEN, "if (index == 0)")
    assert shared != HEADER.read_text()
    corrupted, _, nested = run(tmp_path, shared)
    assert nested >= NESTED
    assert corrupted > 0
