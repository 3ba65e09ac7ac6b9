"""A ring on a disk without room for its pieces a second time keeps the newest packets."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import files
from packets import dumpcap, joining, pcapng, salvage

FRAME = bytes(60)


def pieces(folder: Path, count: int) -> list[str]:
    """So many sections of ten packets each; packet times tell them apart."""
    folder.mkdir()
    head = pcapng.section() + pcapng.interface("eth0", 1, 128, "")
    for number in range(count):
        data = [pcapng.packet(0, number * 100 + n, 60, FRAME) for n in range(10)]
        (folder / f"{number:05}").write_bytes(head + b"".join(data))
    return [str(path) for path in sorted(folder.iterdir())]


@pytest.fixture
def output(tmp_path: Path) -> int:
    return files.create(str(tmp_path / "run.pcapng"))


def limit(monkeypatch: pytest.MonkeyPatch, folder: Path, room: int) -> None:
    """A disk that holds ``room`` bytes of all files below ``folder``."""

    def write_all(descriptor: int, data: bytes) -> None:
        held = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        fits = data[: max(0, room - held)]
        os.write(descriptor, fits)
        if len(fits) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(joining, "write_all", write_all)


def test_the_pieces_are_one_file(tmp_path: Path, output: int):
    found = pieces(tmp_path / "ring", 3)
    # What a part wrote that was killed while it joined does not stay.
    os.write(output, b"half a piece")
    assert joining.join(found, output) is None
    whole = b"".join(Path(path).read_bytes() for path in found)
    assert (tmp_path / "run.pcapng").read_bytes() == whole


def test_the_oldest_piece_makes_room(tmp_path: Path, output: int, monkeypatch):
    found = pieces(tmp_path / "ring", 4)
    newest = b"".join(Path(path).read_bytes() for path in found[2:])
    limit(monkeypatch, tmp_path, 4 * (len(newest) // 2) + 100)
    assert joining.join(found, output) == "No space left on device"
    assert (tmp_path / "run.pcapng").read_bytes() == newest


def test_a_killed_part_on_a_full_disk_is_counted(tmp_path: Path, output: int, monkeypatch):
    (only,) = pieces(tmp_path / "ring", 1)
    limit(monkeypatch, tmp_path, Path(only).stat().st_size + 400)
    counts = salvage.salvage(
        output, str(tmp_path / "ring"), "killed by signal 9", salvage.Writers()
    )
    assert counts["ended"] == "killed by signal 9: No space left on device"
    assert counts["packets"] == pcapng.walk(output)[1] > 0
    assert counts["cut_bytes"] > 0
    assert not (tmp_path / "ring").exists()


def test_a_piece_that_dumpcap_removes_meanwhile_is_none(tmp_path: Path, monkeypatch):
    oldest, *rest = pieces(tmp_path / "ring", 3)

    def listed(_pattern: str) -> list[str]:
        found = [oldest, *rest]
        Path(oldest).unlink(missing_ok=True)
        return found

    monkeypatch.setattr(dumpcap.glob, "glob", listed)
    assert dumpcap.pieces_of(tmp_path / "ring") == rest
    assert dumpcap.size_of(oldest) == 0


def test_a_killed_ring_is_read_once_nobody_writes(tmp_path: Path, output: int):
    """dumpcap outlives its parent for a moment, and starts a next piece for the oldest."""
    oldest, *rest = pieces(tmp_path / "ring", 3)
    writers = salvage.Writers()
    script = "import os, sys; sys.stdin.read(); os.rename(*sys.argv[1:3]); os.unlink(sys.argv[3])"
    command = [sys.executable, "-I", "-c", script, oldest, str(tmp_path / "ring/99999"), rest[0]]
    fds = (writers.inherited,)
    dumpcap = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=fds)
    threading.Timer(0.2, dumpcap.stdin.close).start()
    counts = salvage.salvage(output, str(tmp_path / "ring"), "killed by signal 9", writers)
    assert counts["ended"] == "killed by signal 9"
    assert counts["packets"] == pcapng.walk(output)[1] == 20
    assert dumpcap.wait() == 0
