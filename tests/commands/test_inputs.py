"""Inputs that cannot be read end a command with 3, every time, and leave no thread behind."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

STARTS = 100
"""How often a crash at the end of one run in five cannot hide."""

COUNTED = """
import atexit, sys, threading
from l4strace import resources
resources.QUICK_BYTES, resources._processors = 0, lambda: 2
started, start = [], threading.Thread.start
def counted(thread):
    started.append(thread)
    start(thread)
threading.Thread.start = counted
from l4strace.__main__ import main
def report():
    print(len(started), [t.name for t in started if t.daemon or t.is_alive()], file=sys.stderr)
atexit.register(report)
sys.argv = ["l4strace", *{words!r}]
main()
"""


def missing(path: Path) -> None:
    """No file."""


def empty(path: Path) -> None:
    """Not a byte."""
    path.touch()


def foreign(path: Path) -> None:
    """Neither capture nor log."""
    path.write_bytes(b"%PDF-1.7\n" * 100)


def cut(path: Path) -> None:
    """A capture that ends in the header of the file."""
    path.write_bytes(bytes.fromhex("d4c3b2a1") + b"\0" * 4)


def unreadable(path: Path) -> None:
    """A socket: nobody can open it, nor can root."""
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


KINDS = (missing, empty, foreign, cut, unreadable)


@pytest.fixture
def capture(fixtures: Path) -> Path:
    return fixtures / "accecn-bleached" / "sender.pcap.xz"


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "l4strace", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("words", [(), ("-f", "json"), ("good",)])
def test_an_input_that_cannot_be_read_gives_3(
    make: Callable[[Path], None], words: tuple[str, ...], tmp_path: Path, capture: Path
):
    bad = tmp_path / "bad.pcap"
    make(bad)
    given = [capture if word == "good" else word for word in words]
    failed = run("diagnose", *given, bad)
    assert failed.returncode == 3, failed.stderr
    assert "bad.pcap" in failed.stderr


@pytest.mark.slow
@pytest.mark.parametrize("make", KINDS)
def test_each_of_a_hundred_starts_gives_3(make: Callable[[Path], None], tmp_path: Path):
    bad = tmp_path / "bad.pcap"
    make(bad)
    codes = [run("diagnose", bad).returncode for _ in range(STARTS)]
    assert codes == [3] * STARTS


@pytest.mark.parametrize("make", KINDS)
def test_no_thread_outlives_an_input_that_cannot_be_read(
    make: Callable[[Path], None], tmp_path: Path, capture: Path
):
    """Beside a good capture, whose checksum is worked out in a thread."""
    bad = tmp_path / "bad.pcap"
    make(bad)
    code = COUNTED.format(words=["diagnose", "--json", str(capture), str(bad)])
    # A command that ran in this process may have set it.
    env = {name: value for name, value in os.environ.items() if name != "POLARS_MAX_THREADS"}
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert failed.returncode == 3, failed.stderr
    started, _, left = failed.stderr.splitlines()[-1].partition(" ")
    assert left == "[]"
    # What begins as a capture is read beside its checksum.
    assert started == "1" or make is not cut


@pytest.mark.parametrize(
    "words", [("--select", "L4S999"), ("--ignore", "L4S999"), ("--from", "2", "--to", "1")]
)
def test_what_cannot_be_asked_is_refused_before_it_is_read(tmp_path: Path, words: tuple[str, ...]):
    refused = run("diagnose", tmp_path / "missing.pcap", *words)
    assert refused.returncode == 2
    assert "missing.pcap" not in refused.stderr
