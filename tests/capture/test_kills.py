"""Parts of a recording killed at random moments, a third of the runs on a disk that fills up.

L4STRACE_KILLS=200 runs that many; run N draws the same moments for ever. What a run leaves opens or
is refused in one line, and the host is as it was before.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import pytest

from l4strace import pipeline
from l4strace.core import _native
from l4strace.errors import InputError
from tests.support.network import Capture, Network, network, on_the_host
from tests.support.processes import (
    PATIENCE_SECONDS,
    cmdline,
    descendants,
    find,
    none_left,
    started,
    trace_instances,
    wait_until,
)

pytestmark = on_the_host

KILLS = int(os.environ.get("L4STRACE_KILLS", "3"))
PARTS = ("collectors record", "collectors packets", "collectors tracefs", "collectors pack")


@pytest.fixture(scope="module")
def net() -> Iterator[Network]:
    with network() as made:
        yield made


@contextmanager
def folder(place: Path, size_kb: int | None) -> Iterator[Path]:
    """A folder, on a small disk of its own if it has a size."""
    place.mkdir()
    if size_kb is None:
        yield place
        return
    options = ["-t", "tmpfs", "-o", f"size={size_kb}k"]
    subprocess.run(["mount", *options, "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def kill_one(process: Capture, chance: Random) -> dict[int, int | None]:
    """Ends a part, or the program itself, by KILL or TERM; returns all that ran."""
    words_of = descendants(process.pid) | {process.pid: cmdline(process.pid)}
    ran = {pid: started(pid) for pid in words_of}
    parts = [pid for pid, words in words_of.items() if any(part in words for part in PARTS)]
    victim = chance.choice([process.pid, *parts])
    number = chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM))
    print(number, words_of[victim])
    with suppress(ProcessLookupError):
        os.kill(victim, number)
    return ran


def ended(process: Capture, ran: dict[int, int | None], place: Path, chance: Random) -> str:
    """What it printed. A recording that goes on without the part is ended as by Ctrl-C."""
    time.sleep(chance.random())
    # Python that is interrupted while it starts prints a traceback of its own.
    wait_until(lambda: process.said() or process.poll() is not None, "it speaks or ends")
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    none_left(ran, place)
    return err


def opens(place: Path) -> None:
    """Whatever is there is read, or refused in a line; a recording says where it breaks off."""
    names = sorted(path.name for path in place.iterdir())
    assert [name for name in names if not name.startswith("run.")] == [], "a file of nobody's"
    assert [name for name in names if name.endswith(".part")] == []
    capture = place / "run.pcapng"
    inputs = [str(capture)] if capture.exists() else [str(place / name) for name in names]
    if not inputs:
        return
    if any(Path(path).stat().st_size == 0 for path in inputs):
        # Ended before its first packet.
        with pytest.raises(InputError, match="is empty"):
            pipeline.read(inputs)
        return
    run = pipeline.read(inputs)
    host = place / "run.host.json"
    if host.exists() and host.stat().st_size:
        assert [h["path"] for h in run.host_files] == [str(host)]
    if run.sources.filter(kind="pcapng").height:
        records, _ = _native.walk(str(capture))
        assert run.sources.filter(kind="pcapng")["records"].item() == records


def is_counted(place: Path, err: str) -> None:
    """The summary, where there is one, counts the packets that are in the file."""
    host = place / "run.host.json"
    if not host.exists() or "recorded " not in err or "no space" in err.lower():
        return
    if not (summary := json.loads(host.read_text() or "{}").get("capture")):
        return
    capture = place / "run.pcapng"
    if not capture.exists():
        assert summary["packets"] == {}
        return
    records = _native.walk(str(capture))[0] if capture.stat().st_size else 0
    assert summary["packets"].get("packets") == records, summary
    assert f"packets: {records:,} written" in err


@pytest.mark.parametrize("number", range(KILLS))
def test_a_killed_run_opens_and_leaves_nothing(net: Network, tmp_path: Path, number: int) -> None:
    chance = Random(f"kill {number}")
    size = chance.choice((64, 200, 600)) if number % 3 == 2 else None
    backend = chance.choice(("dumpcap", "tcpdump", "ring"))
    words = ["--kernel", "tracefs", "--packets", backend]
    words += ["--ring", "1"] if chance.random() < 0.25 else []
    with folder(tmp_path / "disk", size) as place:
        process = net.start_capture("-o", str(place / "run"), *words)
        traffic = net.start(net.left, *net.send(4, 100), stdout=subprocess.DEVNULL)
        try:
            time.sleep(chance.uniform(0.3, 4.0))
            ran = kill_one(process, chance)
            err = ended(process, ran, place, chance)
        finally:
            process.kill()
            traffic.kill()
            traffic.wait()
        assert "Traceback" not in err, err
        opens(place)
        is_counted(place, err)
    # Only ours: other captures of this machine may be killed, too.
    assert not trace_instances() & {f"l4strace-{pid}" for pid in ran}, err


def test_a_ring_that_is_killed_as_it_begins_leaves_no_folder(net: Network, tmp_path: Path) -> None:
    """Its recording gives up, and only it knows of the folder of the ring's pieces."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["--kernel", "none", "--packets", "ring", "--ring", "1"]
    process = net.start_capture("-o", str(place / "run"), *words)
    os.kill(find(process.pid, "collectors packets"), signal.SIGKILL)
    process.communicate(timeout=PATIENCE_SECONDS)
    assert list(place.glob(".l4strace-*")) == []
