"""A kernel log on its way to the disk: frame by frame, and none of them half."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from l4strace.core import _native
from run import pack
from tests.support.processes import PATIENCE_SECONDS, wait_until

COLLECTORS = Path(pack.__file__).resolve().parents[1]
WITH = [pytest.param(["--with", "/usr/bin/zstd"], marks=pytest.mark.needs("zstd")), []]


def start(path: Path, options: list[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", str(COLLECTORS), "pack", *options]
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with path.open("wb") as output:
        return subprocess.Popen(command, stdout=output, bufsize=0, **pipes)  # type: ignore[call-overload, no-any-return]


def wait_for_a_frame(path: Path, behind: int = 0) -> None:
    wait_until(lambda: path.stat().st_size > behind, f"a frame behind {behind} bytes")


def name(options: list[str]) -> str:
    return "log.ndjson.zst" if options else "log.ndjson.gz"


@pytest.mark.parametrize("options", WITH)
def test_a_line_is_on_the_disk_after_a_second_and_survives_kill_9(
    tmp_path: Path, options: list[str]
) -> None:
    path = tmp_path / name(options)
    process = start(path, options)
    assert process.stdin is not None
    process.stdin.write(b'{"first": 1}\n{"cut": ')
    wait_for_a_frame(path)
    process.kill()
    process.wait()
    assert b"".join(_native.read_text(str(path))) == b'{"first": 1}\n'


@pytest.mark.parametrize("options", WITH)
def test_what_is_packed_in_many_frames_is_read_as_one_log(
    tmp_path: Path, options: list[str]
) -> None:
    path = tmp_path / name(options)
    process = start(path, options)
    assert process.stdin is not None
    lines = [b'{"line": %d}\n' % number for number in range(2000)]
    for part in (lines[:900], lines[900:1500], lines[1500:]):
        before = path.stat().st_size
        process.stdin.write(b"".join(part))
        wait_for_a_frame(path, before)
    _, told = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert b"".join(_native.read_text(str(path))) == b"".join(lines)
    expected = {"lines": 2000, "bytes": path.stat().st_size}
    assert json.loads(told.splitlines()[-1])["packed"] == expected


@pytest.mark.root
@pytest.mark.parametrize("options", WITH)
def test_a_full_disk_ends_behind_the_last_whole_frame(tmp_path: Path, options: list[str]) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=True)
    try:
        path = disk / name(options)
        process = start(path, options)
        assert process.stdin is not None
        process.stdin.write(b'{"first": 1}\n')
        wait_for_a_frame(path)
        noise = os.urandom(200_000).hex().encode()
        _, told = process.communicate(noise + b"\n", timeout=PATIENCE_SECONDS)
        assert process.returncode == 1
        said = json.loads(told.splitlines()[-1])["packed"]
        assert "space" in said["error"]
        assert (said["lines"], said["bytes"]) == (1, path.stat().st_size)
        assert b"".join(_native.read_text(str(path))) == b'{"first": 1}\n'
    finally:
        subprocess.run(["umount", str(disk)], check=True)
