"""Kprobes in tracefs: what is defined is taken back, what the kernel skips is counted."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kernel import kprobes, tracing
from kernel.kprobes import Kprobes


@pytest.fixture
def tracefs(tmp_path: Path) -> Path:
    for name in ("kprobe_events", "kprobe_profile"):
        (tmp_path / name).write_text("")
    return tmp_path


def bind(_program: int, _group: bytes, _name: bytes) -> int:
    return os.open(os.devnull, os.O_RDONLY)


def test_what_is_defined_is_taken_back(tracefs: Path) -> None:
    made = Kprobes(str(tracefs), bind)
    made.add("prague_init", "prague_init.isra.0", 7)
    made.add("prague_classic_ecn_fallback", "prague_classic_ecn_fallback", 7, at_return=True)
    made.close()
    pid = os.getpid()
    assert (tracefs / "kprobe_events").read_text().splitlines() == [
        f"p:l4strace_{pid}/prague_init_{pid} prague_init.isra.0",
        f"r128:l4strace_{pid}/prague_classic_ecn_fallback_{pid}_return prague_classic_ecn_fallback",
        f"-:l4strace_{pid}/prague_init_{pid}",
        f"-:l4strace_{pid}/prague_classic_ecn_fallback_{pid}_return",
    ]


def test_a_kernel_without_kprobes_has_nothing_to_sweep(tmp_path: Path) -> None:
    kprobes.sweep(str(tmp_path))


def test_a_probe_that_takes_no_program_is_taken_back(tracefs: Path) -> None:
    made = Kprobes(str(tracefs), lambda *_: -1)
    with pytest.raises(OSError, match="refuses"):
        made.add("prague_init", "prague_init", 7)
    assert len((tracefs / "kprobe_events").read_text().splitlines()) == 2
    assert made.names == {}


def test_skipped_calls_of_our_probes_are_counted(tracefs: Path) -> None:
    made = Kprobes(str(tracefs), bind)
    made.add("prague_init", "prague_init", 7)
    made.add("prague_state", "prague_state", 7)
    pid = os.getpid()
    rows = [f"prague_init_{pid} 100 3", f"prague_state_{pid} 50 4", "somebody_else 9 1000"]
    (tracefs / "kprobe_profile").write_text("".join(f"  {row}\n" for row in rows))
    assert made.skipped() == 7


def test_what_a_killed_collector_left_is_swept(tracefs: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = f"p:l4strace_{gone.pid}/prague_init_{gone.pid} prague_init"
    alive = "p:l4strace_1/prague_init_1 prague_init"
    (tracefs / "kprobe_events").write_text(f"{left}\n{alive}\np:other/x y\n")
    kprobes.sweep(str(tracefs))
    added = (tracefs / "kprobe_events").read_text().splitlines()[3:]
    assert added == [f"-:l4strace_{gone.pid}/prague_init_{gone.pid}"]


@pytest.mark.parametrize(
    ("name", "stale"), [("l4strace_0", True), ("l4strace_self", False), ("other_0", False)]
)
def test_stale_is_what_names_a_process_that_is_gone(name: str, stale: bool) -> None:
    assert tracing.is_stale(name, kprobes.PREFIX) is stale


def test_a_descriptor_that_is_no_program_skipped_nothing() -> None:
    assert kprobes.program_skipped(0) == 0
