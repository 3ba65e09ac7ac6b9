"""Reading a large capture while Python imports what comes after it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BESIDE = """
import sys, time
from l4strace import threads
threads.QUICK_BYTES, threads._processors = {most}, lambda: 2
from l4strace.ingest import tracked
track, seen = tracked.track, []
def watched(*arguments):
    seen.append("polars" in sys.modules)
    return track(*arguments)
tracked.track = watched
from l4strace.commands import inputs
imported, late = inputs._import, []
def importing(modules):
    # No sooner than the packets are read: a machine may be as fast or as slow as it likes.
    while not seen:
        time.sleep(0.001)
    late.append(modules)
    imported(modules)
inputs._import = importing
from l4strace.cli import main
sys.argv = ["l4strace", "diagnose", *{words!r}]
try:
    main()
finally:
    print(seen, len(late), file=sys.stderr)
"""


def run(capture: Path, *words: str, most: int) -> subprocess.CompletedProcess[str]:
    code = BESIDE.format(most=most, words=[str(capture), "--no-html", "--fail-on", "never", *words])
    # A command that ran in this process may have set it.
    alone = {name: value for name, value in os.environ.items() if name != "POLARS_MAX_THREADS"}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=alone)


@pytest.fixture
def capture(fixtures: Path) -> Path:
    return fixtures / "accecn-bleached" / "sender.pcap.xz"


def test_a_large_capture_is_read_before_polars_is_there_and_shows_the_same(capture: Path):
    large, small = run(capture, most=0), run(capture, most=1 << 40)
    assert large.stderr.splitlines()[-1] == "[False] 1"
    assert small.stderr.splitlines()[-1] == "[True] 0"
    assert large.stdout == small.stdout
    assert "L4S104" in large.stdout


@pytest.mark.parametrize(
    "words", [("--select", "L4S999"), ("--ignore", "L4S999"), ("--from", "2", "--to", "1")]
)
def test_what_cannot_be_asked_is_refused_before_it_is_read(capture: Path, words: tuple[str, ...]):
    refused = run(capture, *words, most=0)
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1] == "[] 0"


def test_a_file_that_cannot_be_read_is_an_error_whatever_is_imported(tmp_path: Path):
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(bytes.fromhex("d4c3b2a1") + b"\0" * 4)
    for most in (0, 1 << 40):
        failed = run(cut, most=most)
        assert failed.returncode == 3, failed.stderr
        assert "cut.pcap" in failed.stderr
